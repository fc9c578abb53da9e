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
  /** HTTP status, if a response was received. */
  readonly status?: number | undefined;
  /** Id of the request in the server's log, if the answer had one. */
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
  /** HTTP status, if a response was received. */
  readonly status: number | undefined;
  /** Id of the request in the server's log; give it to the operator of the server when you ask for help. */
  readonly requestId: string | undefined;

  constructor(message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code ?? "unknown";
    this.reason = options.reason ?? this.code;
    this.status = options.status;
    this.requestId = options.requestId;
  }

  /** True if the same call may succeed later without any change by the caller. */
  get retryable(): boolean {
    return this.code === "unavailable" || this.code === "aborted";
  }
}

/** The API key or a token is missing, wrong, or not allowed to do this; or (`unknown_user`) the sandbox has no such user. */
export class AuthenticationError extends BoxyardError {
  override name = "AuthenticationError";
}

/** The request itself is wrong; the same request will always fail. */
export class InvalidArgumentError extends BoxyardError {
  override name = "InvalidArgumentError";
}

/** Something that the call names does not exist. `reason` says what: `sandbox_not_found`, `sandbox_replaced`, `file_not_found`, `process_not_found`, `template_not_found`. */
export class NotFoundError extends BoxyardError {
  override name = "NotFoundError";
}

/** The present state does not allow the operation, or the resource exists already. */
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

/** A time limit was exceeded. `reason` says which: `request_timeout` (no answer in time) or `command_timeout` (the command was killed). */
export class TimeoutError extends BoxyardError {
  override name = "TimeoutError";
}

/** The caller aborted the `signal`; the reason of the abort is the `cause`. */
export class AbortError extends BoxyardError {
  override name = "AbortError";
}

/** The sandbox has ended: it was killed, or its lifetime was over. `reason` is `sandbox_replaced` if another sandbox has its name now. */
export class SandboxEndedError extends BoxyardError {
  override name = "SandboxEndedError";
}

/**
 * The connection failed. `reason` says how. For a stream: `network_failed` (nothing answers), `server_restarted` (the server was restarted; the sandbox
 * keeps running), `stream_dropped` (the connection was cut on its way; the sandbox keeps running). After the last two, connect to the command again.
 * When a stream is cut and nothing answers, the client waits 3 s for the server before it reports `network_failed`.
 * For a single request: `network_failed`, `service_busy` (nothing has changed, try again), `port_not_open` (no program listens on the port).
 */
export class ConnectionError extends BoxyardError {
  override name = "ConnectionError";
}

/** The server or the sandbox's agent does not have this operation. */
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
