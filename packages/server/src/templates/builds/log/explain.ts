import { isAppError } from "@boxyard/core";
import { errnoOf, isTransientErrnoName } from "@boxyard/core/errno";
import { BuildFailure } from "./build-failure.ts";

export interface Explanation {
  readonly message: string;
  readonly step?: string;
}

/** The message of a failed build for its owner. Faults of the server are only in its log; a refusal of the machine that may pass is named. */
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

/** The name of the kernel's error, if that error may pass. An error from a worker has the name as its reason only. */
function refusalOf(error: unknown): string | undefined {
  // An error with a code other than `internal` has a message of its own, unless its reason is the kernel's name.
  const reason = isAppError(error) ? error.reason.toUpperCase() : "";
  const errno = errnoOf(error) ?? reason;
  const isOwn = isAppError(error) && error.code !== "internal" && reason !== errno;
  return !isOwn && isTransientErrnoName(errno) ? errno : undefined;
}
