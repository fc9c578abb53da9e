import { AppError, isAppError, isRetryable } from "@boxyard/core";
import { isTransientErrno } from "@boxyard/core/node";
import { limitMet } from "../limit-met.ts";
import type { SandboxVolume } from "../store/index.ts";
import { isStoreAway } from "../store/store-fault.ts";
import { withVolumeName } from "../volumes/naming.ts";

export { sandboxNotFound } from "@boxyard/core";

/** The error for a sandbox that has ended, and whose name another sandbox of the team has now. */
export const sandboxReplaced = (id: string, { id: now, name }: { readonly id: string; readonly name?: string | undefined }) =>
  new AppError("not_found", `Sandbox ${id} has ended, and sandbox ${now} has its name '${name}' now: connect to that one`, {
    reason: "sandbox_replaced",
  });

/** Reasons of the driver for a fork server or child that ended or hung: the next try has a new one. */
const HELPER = new Set(["fork_server_ended", "child_hung"]);
const isOfHelper = (error: unknown): boolean => error instanceof AppError && HELPER.has(error.reason);

/** True when the same request may succeed a moment later: room, the store, or the fork server was missing. */
export const mayWorkLater = (error: unknown): boolean => isAppError(error, "resource_exhausted") || isStoreAway(error) || isOfHelper(error);

/** Reasons of the driver for volumes that a sandbox cannot have. */
const OF_VOLUMES = new Set(["volume_not_found", "volumes_differ", "bad_mount_point", "bad_volume"]);

/** How a create ended. */
export interface CreateEnd {
  readonly caller: AbortSignal;
  readonly ended: AbortSignal;
  /** False: the removal failed, and the sweep goes on with it. */
  readonly isRemoved: boolean;
  /** Of the sandbox: an error about one of them says its name. */
  readonly volumes?: readonly SandboxVolume[] | undefined;
}

/**
 * The error for the caller of a create that failed. Clients send the request again after 503 and 504: the cause may be gone by then, and the failed
 * create has left nothing that can be seen or used. 500 is a fault of this server, and clients do not send the request again.
 */
export function createFailure(error: unknown, how: CreateEnd): AppError {
  if (how.ended.aborted) {
    return new AppError("aborted", "The sandbox was ended while it was being created", { reason: "ended_during_create", cause: error });
  }
  if (how.caller.aborted) return new AppError("canceled", "The client has gone", { reason: "client_gone", cause: error });
  if (isAppError(error, "sandbox_name_taken")) return error;
  // The store's own reason says more than that there is no room.
  if (error instanceof AppError && error.reason.startsWith("store_")) return error;
  if (isAppError(error, "image_not_found")) {
    const message =
      "The files of this template are not on this machine any more (its storage pool was lost or replaced): rebuild the template";
    return new AppError("not_found", message, { reason: "template_files_missing", cause: error });
  }
  if (isAppError(error, "snapshot_not_found")) {
    const message = "The snapshot was deleted, or its files are not on this machine";
    return new AppError("not_found", message, { reason: "snapshot_not_found", cause: error });
  }
  if (error instanceof AppError && OF_VOLUMES.has(error.reason)) {
    const { message } = withVolumeName(error, how.volumes) as AppError;
    // 400 also for what is not found: clients take a 404 for a template that is missing.
    return new AppError("invalid_argument", `volumeMounts: ${message}`, { reason: error.reason, details: error.details, cause: error });
  }
  const left = how.isRemoved ? "nothing of it is left" : "what is left of it is being removed";
  if (isTimeout(error) || isAppError(error, "deadline_exceeded")) {
    return new AppError("deadline_exceeded", `The sandbox did not start in time; ${left}`, {
      reason: "sandbox_placement_timeout",
      cause: error,
    });
  }
  const retry = { details: { retryAfter: how.isRemoved ? 2 : 5 }, cause: error };
  if (!isOfHelper(error) && (isAppError(error, "resource_exhausted") || isAppError(error, "unavailable"))) {
    const message = `There is no room for another sandbox at the moment: ${error.message}`;
    return new AppError("unavailable", message, { reason: "sandbox_capacity_unavailable", ...retry });
  }
  if ((error instanceof AppError && isRetryable(error.code)) || isTransientErrno(error)) {
    const message = `The sandbox could not be created at the moment (${left}); try again`;
    return new AppError("unavailable", message, { reason: "sandbox_create_failed", ...retry });
  }
  return failed(error);
}

const failed = (cause: unknown) =>
  new AppError("internal", "The sandbox could not be created; the server's log says why", { reason: "sandbox_create_failed", cause });

const isTimeout = (error: unknown) => error instanceof DOMException && error.name === "TimeoutError";

/** The error for the caller of a removal that failed. The sandbox cannot be used any more, and the sweep goes on with the removal. */
export function removalFailure(error: unknown): unknown {
  if (!isTransientErrno(error)) return error;
  const message = "The sandbox has ended, but not all of it could be removed yet; the server tries that again";
  return new AppError("unavailable", message, { reason: "removal_pending", details: { retryAfter: 5 }, cause: error });
}

/** True when the machine has no room (`CapacityGate`). */
export const isNoRoom = (error: unknown): error is AppError => error instanceof AppError && error.reason === "sandbox_capacity_unavailable";

const NO_PLACE = "too_many_sandboxes";

/** The largest number of sandboxes of users run already (`Admission`). */
export function noPlace(maxSandboxes: number): AppError {
  const advice = "end or pause some sandboxes, or try again later";
  return limitMet({ limit: "BOXYARD_MAX_SANDBOXES", value: maxSandboxes, of: "server", reason: NO_PLACE, advice, retryAfter: 5 });
}

/** True when the server, or the team, may not have one more sandbox. */
export const isNoPlace = (error: unknown): error is AppError => isAppError(error, NO_PLACE) || isAppError(error, "team_limit");
