import { AppError, isAppError } from "@boxyard/core";
import { isStoreAway } from "../store/store-fault.ts";
import { mayWorkLater } from "./problems.ts";

/**
 * The answer to a verb that failed and changed nothing: 503. `sentence` says what became of the sandbox. Worth sending again when room was missing, or
 * the store was away; a store's own reason is kept, for callers know it as `error_code`. A damaged store is answered as it is for a create.
 */
export function failedVerb(sentence: string, reason: string, error: unknown): AppError {
  if (isAppError(error, "data_loss") && error.reason.startsWith("store_")) return error;
  const why = error instanceof AppError ? error.message : "the server's log says why";
  const storeReason = isStoreAway(error) ? (error as AppError).reason : undefined;
  return new AppError("unavailable", `${sentence}: ${why}`, {
    reason: storeReason ?? reason,
    details: { shouldRetry: mayWorkLater(error) },
    cause: error,
  });
}
