/**
 * Every failure of this package is a {@link BoxyardError}. The classes are few and closed: branch on the class, or on `code`, or, finer,
 * on `reason`. The text of `message` is for people and may change; no code should read it.
 */
/** The 16 codes of Connect and gRPC. */
export type ErrorCode = "canceled" | "unknown" | "invalid_argument" | "deadline_exceeded" | "not_found" | "already_exists" | "permission_denied" | "resource_exhausted" | "failed_precondition" | "aborted" | "out_of_range" | "unimplemented" | "internal" | "unavailable" | "data_loss" | "unauthenticated";
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
export declare class BoxyardError extends Error {
    name: string;
    /** What kind of failure, from a closed list. */
    readonly code: ErrorCode;
    /** What exactly, for programs. */
    readonly reason: string;
    /** HTTP status, when a response was received. */
    readonly status: number | undefined;
    /** Quote it when asking the operator: the server logs it. */
    readonly requestId: string | undefined;
    constructor(message: string, options?: ErrorOptions);
    /** True when the same call may succeed later without any change by the caller. */
    get retryable(): boolean;
}
/** The API key or a token is missing, wrong, or not allowed to do this; or (`unknown_user`) the sandbox has no such user. */
export declare class AuthenticationError extends BoxyardError {
    name: string;
}
/** The request itself is wrong; repeating it cannot help. */
export declare class InvalidArgumentError extends BoxyardError {
    name: string;
}
/** What was named does not exist. `reason` says what: `sandbox_not_found`, `file_not_found`, `process_not_found`, `template_not_found`. */
export declare class NotFoundError extends BoxyardError {
    name: string;
}
/** The thing is in a state in which this cannot be done, or exists already. */
export declare class ConflictError extends BoxyardError {
    name: string;
}
/** Too many requests or sandboxes; wait and try again. */
export declare class RateLimitError extends BoxyardError {
    name: string;
}
/** The sandbox's disk is full. */
export declare class NotEnoughSpaceError extends BoxyardError {
    name: string;
}
/** A time limit passed. `reason` says which: `request_timeout` (no answer in time) or `command_timeout` (the command was ended). */
export declare class TimeoutError extends BoxyardError {
    name: string;
}
/** The caller's `signal` was aborted; its reason is the `cause`. */
export declare class AbortError extends BoxyardError {
    name: string;
}
/** The sandbox is gone: killed, or its time was up. */
export declare class SandboxEndedError extends BoxyardError {
    name: string;
}
/**
 * The connection failed. `reason` tells how: `network_failed` (nothing answers), `server_restarted` (a stream was cut by a restart of the
 * server; the sandbox runs on), `stream_dropped` (something between cut the connection; the sandbox runs on). After the last two, connect to
 * the command again. When a stream is cut and nothing answers, the server is given 3 s to come back before this is called a network failure.
 * Of a single request: `service_busy` (nothing has changed, try again), `port_not_open` (nothing listens there).
 */
export declare class ConnectionError extends BoxyardError {
    name: string;
}
/** The server or the sandbox's agent does not know this operation. */
export declare class UnsupportedError extends BoxyardError {
    name: string;
}
/** Makes the error of the class that belongs to `code`. */
export declare function errorOf(code: ErrorCode, message: string, options?: Omit<ErrorOptions, "code">): BoxyardError;
