import { AppError, isAppError } from "@boxyard/core";

/** Also for sandboxes of other teams: whether those exist is none of the caller's business. */
export const sandboxNotFound = (id: string) =>
  new AppError("not_found", `Sandbox "${id}" doesn't exist or you don't have access to it`, { reason: "sandbox_not_found" });

/** How a create came to its end. */
export interface CreateEnd {
  readonly caller: AbortSignal;
  readonly ended: AbortSignal;
  /** False: what was made could not be removed; the sweep goes on trying. */
  readonly isRemoved: boolean;
}

/**
 * What a caller is told when a create fails. 503 and 504 are sent again by clients and promise that nothing is left; 500 is not sent again.
 */
export function createFailure(error: unknown, how: CreateEnd): AppError {
  if (how.ended.aborted) {
    return new AppError("aborted", "The sandbox was ended while it was being created", { reason: "ended_during_create", cause: error });
  }
  if (how.caller.aborted) return new AppError("canceled", "The client has gone", { reason: "client_gone", cause: error });
  // Ours already, and truer than that there is no room.
  if (error instanceof AppError && error.reason.startsWith("store_")) return error;
  if (!how.isRemoved) return failed(error);
  if (isTimeout(error) || isAppError(error, "deadline_exceeded")) {
    return new AppError("deadline_exceeded", "The sandbox did not start in time; nothing of it is left", {
      reason: "sandbox_placement_timeout",
      cause: error,
    });
  }
  if (isAppError(error, "resource_exhausted") || isAppError(error, "unavailable")) {
    const message = `There is no room for another sandbox at the moment: ${error.message}`;
    return new AppError("unavailable", message, { reason: "sandbox_capacity_unavailable", details: { retryAfter: 2 }, cause: error });
  }
  return failed(error);
}

const failed = (cause: unknown) =>
  new AppError("internal", "The sandbox could not be created; the server's log says why", { reason: "sandbox_create_failed", cause });

const isTimeout = (error: unknown) => error instanceof DOMException && error.name === "TimeoutError";
