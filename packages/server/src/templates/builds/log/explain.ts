import { isAppError } from "@boxyard/core";
import { errnoOf, isTransientErrnoName } from "@boxyard/core/errno";
import { BuildFailure } from "./build-failure.ts";

export interface Explanation {
  readonly message: string;
  readonly step?: string;
}

/** What the end of a build says to its owner. What is wrong with the server only its log says, but not what the machine lacks for now. */
export function explain(error: unknown): Explanation {
  if (error instanceof BuildFailure) return { message: error.message, ...(error.step === undefined ? {} : { step: error.step }) };
  const errno = refusalOf(error);
  if (errno !== undefined) {
    return {
      message: `The server's machine refused what the build needs (${errno}); its operator sees more in the log. Build again later: finished steps are cached`,
    };
  }
  if (isAppError(error) && error.code !== "internal") return { message: error.message };
  return { message: "The server could not build the template; its log says why" };
}

/** The kernel's error, where it is one of the machine's state: of a process of ours it comes as a reason only. */
function refusalOf(error: unknown): string | undefined {
  // An error of a code has a sentence of its own, unless that is the kernel's.
  const reason = isAppError(error) ? error.reason.toUpperCase() : "";
  const errno = errnoOf(error) ?? reason;
  const isOwn = isAppError(error) && error.code !== "internal" && reason !== errno;
  return !isOwn && isTransientErrnoName(errno) ? errno : undefined;
}
