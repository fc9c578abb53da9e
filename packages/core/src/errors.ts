/**
 * The one error type of the platform.
 *
 * `code` is for programs and comes from the closed list of the 16 Connect/gRPC codes; `reason` narrows it (`sandbox_not_found`);
 * `message` is one sentence for people that says what to do; `details` is safe to show; `cause` is for us and is never sent.
 * Errors are translated to a wire form once, at the border that answers, and logged there once.
 */
export const ERROR_CODES = [
  "canceled",
  "unknown",
  "invalid_argument",
  "deadline_exceeded",
  "not_found",
  "already_exists",
  "permission_denied",
  "resource_exhausted",
  "failed_precondition",
  "aborted",
  "out_of_range",
  "unimplemented",
  "internal",
  "unavailable",
  "data_loss",
  "unauthenticated",
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** HTTP status of each code (Connect protocol, "Error codes"). Borders with a table of their own may differ and say so. */
export const HTTP_STATUS: Readonly<Record<ErrorCode, number>> = {
  canceled: 499,
  unknown: 500,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  already_exists: 409,
  permission_denied: 403,
  resource_exhausted: 429,
  failed_precondition: 400,
  aborted: 409,
  out_of_range: 400,
  unimplemented: 501,
  internal: 500,
  unavailable: 503,
  data_loss: 500,
  unauthenticated: 401,
};

export interface AppErrorOptions {
  readonly reason?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  readonly reason: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.reason = options.reason ?? code;
    this.details = options.details ?? {};
  }
}

/** True when repeating the same call later may succeed without any change by the caller. */
export function isRetryable(code: ErrorCode): boolean {
  return code === "unavailable" || code === "aborted";
}

export function isAppError(error: unknown, reasonOrCode?: string): error is AppError {
  return error instanceof AppError && (reasonOrCode === undefined || error.reason === reasonOrCode || error.code === reasonOrCode);
}

/** Wraps a failure with the operation that failed, once per layer; code and reason of an `AppError` cause are kept. */
export function wrapError(operation: string, cause: unknown): AppError {
  const text = cause instanceof Error ? cause.message : String(cause);
  if (cause instanceof AppError) {
    return new AppError(cause.code, `${operation}: ${text}`, { reason: cause.reason, details: cause.details, cause });
  }
  return new AppError("internal", `${operation}: ${text}`, { cause });
}
