/**
 * Every failure of this package is a {@link BoxyardError}. The classes are few and closed: branch on the class, or on `code`, or, finer,
 * on `reason`. The text of `message` is for people and may change; no code should read it.
 */

/** The 16 codes of Connect and gRPC. */
export type ErrorCode =
  | "canceled"
  | "unknown"
  | "invalid_argument"
  | "deadline_exceeded"
  | "not_found"
  | "already_exists"
  | "permission_denied"
  | "resource_exhausted"
  | "failed_precondition"
  | "aborted"
  | "out_of_range"
  | "unimplemented"
  | "internal"
  | "unavailable"
  | "data_loss"
  | "unauthenticated";

export interface ErrorOptions {
  readonly code?: ErrorCode;
  /** Narrows `code` for programs, e.g. `sandbox_not_found`. Defaults to the code. */
  readonly reason?: string;
  /** HTTP status, when a response was received. */
  readonly status?: number | undefined;
  /** What the server calls this request in its log, when it said so. */
  readonly requestId?: string | undefined;
  readonly cause?: unknown;
}

/** Base class of every error of this package. */
export class BoxyardError extends Error {
  override name = "BoxyardError";
  /** The kind of failure, from a closed list. */
  readonly code: ErrorCode;
  /** The exact failure, for programs. */
  readonly reason: string;
  /** HTTP status, when a response was received. */
  readonly status: number | undefined;
  /** Quote it when asking the operator: the server logs it. */
  readonly requestId: string | undefined;

  constructor(message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code ?? "unknown";
    this.reason = options.reason ?? this.code;
    this.status = options.status;
    this.requestId = options.requestId;
  }

  /** True when the same call may succeed later without any change by the caller. */
  get retryable(): boolean {
    return this.code === "unavailable" || this.code === "aborted";
  }
}

/** The API key or a token is missing, wrong, or not allowed to do this; or (`unknown_user`) the sandbox has no such user. */
export class AuthenticationError extends BoxyardError {
  override name = "AuthenticationError";
}

/** The request itself is wrong; repeating it cannot help. */
export class InvalidArgumentError extends BoxyardError {
  override name = "InvalidArgumentError";
}

/** What was named does not exist. `reason` says what: `sandbox_not_found`, `file_not_found`, `process_not_found`, `template_not_found`. */
export class NotFoundError extends BoxyardError {
  override name = "NotFoundError";
}

/** The thing is in a state in which this cannot be done, or exists already. */
export class ConflictError extends BoxyardError {
  override name = "ConflictError";
}

/** Too many requests or sandboxes; wait and try again. */
export class RateLimitError extends BoxyardError {
  override name = "RateLimitError";
}

/** The sandbox's disk is full. */
export class NotEnoughSpaceError extends BoxyardError {
  override name = "NotEnoughSpaceError";
}

/** A time limit passed. `reason` says which: `request_timeout` (no answer in time) or `command_timeout` (the command was ended). */
export class TimeoutError extends BoxyardError {
  override name = "TimeoutError";
}

/** The caller's `signal` was aborted; its reason is the `cause`. */
export class AbortError extends BoxyardError {
  override name = "AbortError";
}

/** The sandbox is gone: killed, or its time was up. */
export class SandboxEndedError extends BoxyardError {
  override name = "SandboxEndedError";
}

/**
 * The connection failed. `reason` tells how: `network_failed` (nothing answers), `server_restarted` (a stream was cut by a restart of the
 * server; the sandbox keeps running), `stream_dropped` (something between cut the connection; the sandbox keeps running). After the last two, connect to
 * the command again. When a stream is cut and nothing answers, the server is given 3 s to come back before this is called a network failure.
 * Of a single request: `service_busy` (nothing has changed, try again), `port_not_open` (nothing listens there).
 */
export class ConnectionError extends BoxyardError {
  override name = "ConnectionError";
}

/** The server or the sandbox's agent does not know this operation. */
export class UnsupportedError extends BoxyardError {
  override name = "UnsupportedError";
}

type ErrorClass = new (message: string, options?: ErrorOptions) => BoxyardError;

/** The class for each code; codes that are not listed give a plain {@link BoxyardError}. */
const CLASS_BY_CODE: Partial<Record<ErrorCode, ErrorClass>> = {
  canceled: AbortError,
  invalid_argument: InvalidArgumentError,
  out_of_range: InvalidArgumentError,
  deadline_exceeded: TimeoutError,
  not_found: NotFoundError,
  already_exists: ConflictError,
  aborted: ConflictError,
  failed_precondition: ConflictError,
  permission_denied: AuthenticationError,
  unauthenticated: AuthenticationError,
  resource_exhausted: RateLimitError,
  unimplemented: UnsupportedError,
  unavailable: ConnectionError,
};

/** Makes the error of the class that belongs to `code`. */
export function errorOf(code: ErrorCode, message: string, options: Omit<ErrorOptions, "code"> = {}): BoxyardError {
  const Class = CLASS_BY_CODE[code] ?? BoxyardError;
  return new Class(message, { ...options, code });
}
