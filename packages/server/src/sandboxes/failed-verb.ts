import { AppError, isAppError } from "@boxyard/core";
import { isStoreFault } from "../store/store-fault.ts";
import { mayWorkLater } from "./problems.ts";

/**
 * The answer to a verb that failed and changed nothing: 503. `sentence` says what became of the sandbox. Worth sending again when room was missing, or
 * the store was away; a store's own reason is kept, for callers know it as `error_code`.
 */
export function failedVerb(sentence: string, reason: string, error: unknown): AppError {
  const why = error instanceof AppError ? error.message : "the server's log says why";
  const storeReason = isAppError(error, "unavailable") && isStoreFault(error) ? error.reason : undefined;
  const shouldRetry = storeReason !== undefined || mayWorkLater(error);
  return new AppError("unavailable", `${sentence}: ${why}`, { reason: storeReason ?? reason, details: { shouldRetry }, cause: error });
}
