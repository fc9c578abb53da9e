import { AppError, isAppError } from "@boxyard/core";
import { isStoreAway } from "../store/store-fault.ts";
import { mayWorkLater } from "./problems.ts";

/**
 * The error of a verb that failed and changed nothing: 503. `sentence` says in which state the sandbox is. Clients are told to send the request
 * again when room was missing or the store did not answer. A store's own reason is kept, because clients get it as `error_code`. The error of a
 * damaged store is passed on, as for a create.
 */
export function failedVerb(sentence: string, reason: string, error: unknown): AppError {
  if (isAppError(error, "data_loss") && error.reason.startsWith("store_")) return error;
  const why = error instanceof AppError ? withoutProcesses(error.message) : "the server's log says why";
  const storeReason = isStoreAway(error) ? (error as AppError).reason : undefined;
  return new AppError("unavailable", `${sentence}: ${why}`, {
    reason: storeReason ?? reason,
    details: { shouldRetry: mayWorkLater(error) },
    cause: error,
  });
}

/** Processes of the machine, by which the kernel's errors name files, mean nothing to clients and are not theirs to know. */
const withoutProcesses = (text: string): string =>
  text.replace(/\/proc\/\d+(?:\/[^\s'",;:)]*)?/g, "a process").replace(/\bpid:? \d+/g, "a process");
