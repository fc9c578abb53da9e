import {
  AuthenticationError,
  BoxyardError,
  ConflictError,
  ConnectionError,
  type ErrorCode,
  InvalidArgumentError,
  NotEnoughSpaceError,
  NotFoundError,
  RateLimitError,
  SandboxEndedError,
  TimeoutError,
  UnsupportedError,
} from "../errors.ts";

type ErrorClass = new (message: string, options: { code: ErrorCode; reason: string; status: number; requestId?: string }) => BoxyardError;

/** What each HTTP status means; 5xx that are not listed are `internal`. */
const BY_STATUS: Readonly<Record<number, readonly [ErrorClass, ErrorCode, string?]>> = {
  400: [InvalidArgumentError, "invalid_argument"],
  401: [AuthenticationError, "unauthenticated"],
  403: [AuthenticationError, "permission_denied"],
  404: [NotFoundError, "not_found"],
  405: [UnsupportedError, "unimplemented"],
  408: [TimeoutError, "deadline_exceeded", "request_timeout"],
  409: [ConflictError, "aborted"],
  413: [InvalidArgumentError, "invalid_argument", "body_too_large"],
  422: [InvalidArgumentError, "invalid_argument"],
  429: [RateLimitError, "resource_exhausted"],
  501: [UnsupportedError, "unimplemented"],
  502: [SandboxEndedError, "unavailable", "sandbox_not_running"],
  503: [ConnectionError, "unavailable", "service_busy"],
  504: [TimeoutError, "deadline_exceeded", "request_timeout"],
  507: [NotEnoughSpaceError, "resource_exhausted", "not_enough_space"],
};

/** The sandbox's proxy names the port in a 502 when the sandbox runs and nothing listens there: then it has not ended. */
interface ErrorBody {
  readonly message?: unknown;
  readonly error_code?: unknown;
  /** A text in answers about the files of a volume. */
  readonly code?: unknown;
  readonly port?: unknown;
}

function parseBody(text: string): ErrorBody {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as ErrorBody) : {};
  } catch {
    return {};
  }
}

/**
 * The error for a response that is not a success.
 *
 * @param what - What was tried, as the start of the sentence ("create sandbox").
 * @param notFoundReason - The `reason` of a 404 that carries none itself.
 */
export async function errorFromResponse(response: Response, what: string, notFoundReason = "not_found"): Promise<BoxyardError> {
  // A page of a foreign proxy may be long; its start is enough.
  const text = (await response.text().catch(() => "")).slice(0, 4096);
  const body = parseBody(text);
  const status = response.status;
  const [Class, code, statusReason] = BY_STATUS[status] ?? [BoxyardError, status >= 500 ? "internal" : "unknown"];
  const said = typeof body.message === "string" ? body.message : text.trim().slice(0, 500) || response.statusText || "no message";
  const named = [body.error_code, body.code].find((value) => typeof value === "string");
  const reason = named ?? (status === 404 ? notFoundReason : (statusReason ?? code));
  const requestId = response.headers.get("x-request-id") ?? undefined;
  if (reason === "no_such_route") {
    return new UnsupportedError(`${what}: this server has no such operation`, { code: "unimplemented", reason, status });
  }
  const options = { code, reason, status, ...(requestId ? { requestId } : {}) };
  if (status === 502 && body.port !== undefined) {
    return new ConnectionError(`${what}: ${said}`, { ...options, reason: "port_not_open" });
  }
  return new Class(`${what}: ${said}`, options);
}
