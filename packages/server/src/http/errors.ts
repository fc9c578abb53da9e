import { AppError, HTTP_STATUS } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { limitFields } from "../limit-met.ts";

/** Statuses for which the contract deviates from the table of codes (docs/contract/platform.md, Errors). */
const STATUS_BY_REASON: Readonly<Record<string, number>> = {
  idempotency_request_mismatch: 422,
  body_too_large: 413,
  method_not_allowed: 405,
  volume_in_use: 409,
  volume_full: 507,
  volume_disk_full: 507,
  archive_too_large: 413,
  recording_too_large: 413,
  recording_in_use: 409,
  recording_disk_full: 507,
};

/** Reasons that are sent to clients as `error_code`. */
const PUBLIC_REASONS = new Set([
  "idempotency_request_mismatch",
  "idempotency_in_progress",
  "sandbox_capacity_unavailable",
  "sandbox_placement_timeout",
  "sandbox_create_failed",
  "template_files_missing",
  "store_full",
  "store_denied",
  "store_lost",
  "store_unavailable",
  "not_owner",
  "no_such_route",
  "not_yet",
  "key_not_found",
  "last_key",
  "scope_missing",
  "api_key_expired",
  "already_expired",
  "admin_token_invalid",
  "team_not_found",
  "team_exists",
  "team_in_use",
  "default_team",
  "secret_exists",
  "sandbox_name_taken",
  "sandbox_replaced",
  "sandbox_in_setup",
  "setup_lost",
  "size_too_large",
  "volume_name_taken",
  "memory_in_use",
  "disk_in_use",
]);

/** Whether clients may send the request again; `Retry-After` says when. */
const isRetried = (status: number, shouldRetry: unknown) => status === 429 || (status === 503 && shouldRetry !== false);

export const statusOf = ({ reason, code }: AppError): number => STATUS_BY_REASON[reason] ?? HTTP_STATUS[code];

/**
 * The one place where an error becomes an answer, and is logged. A 500 names the request, and so does its line of the log.
 */
export function errorResponse(error: unknown, logger: Logger, requestId?: string): Response {
  const known = error instanceof AppError ? error : new AppError("internal", "Internal server error", { cause: error });
  const status = statusOf(known);
  // 501 says that the server does not have the operation: nothing has failed.
  if (status >= 500 && status !== 501) logger.error({ err: known, status, ...(requestId && { requestId }) }, "request failed");
  const headers = new Headers({ "Content-Type": "application/json; charset=utf-8" });
  const { retryAfter, shouldRetry, allow } = known.details;
  if (isRetried(status, shouldRetry) || typeof retryAfter === "number")
    headers.set("Retry-After", String(typeof retryAfter === "number" ? retryAfter : 1));
  if (typeof shouldRetry === "boolean") headers.set("Should-Retry", String(shouldRetry));
  if (typeof allow === "string") headers.set("Allow", allow);
  const message = status === 500 && requestId ? `${known.message} (request ${requestId})` : known.message;
  const body = { code: status, message, ...(PUBLIC_REASONS.has(known.reason) ? { error_code: known.reason } : {}), ...limitFields(known) };
  return new Response(JSON.stringify(body), { status, headers });
}
