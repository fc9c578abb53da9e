import { Code, ConnectError } from "@connectrpc/connect";
import { BoxyardError, type ErrorCode, errorOf, TimeoutError } from "../errors.ts";
import { lostConnection, type Probe } from "./lost-connection.ts";
import type { RequestScope } from "./request-scope.ts";

const CODES: Readonly<Record<Code, ErrorCode>> = {
  [Code.Canceled]: "canceled",
  [Code.Unknown]: "unknown",
  [Code.InvalidArgument]: "invalid_argument",
  [Code.DeadlineExceeded]: "deadline_exceeded",
  [Code.NotFound]: "not_found",
  [Code.AlreadyExists]: "already_exists",
  [Code.PermissionDenied]: "permission_denied",
  [Code.ResourceExhausted]: "resource_exhausted",
  [Code.FailedPrecondition]: "failed_precondition",
  [Code.Aborted]: "aborted",
  [Code.OutOfRange]: "out_of_range",
  [Code.Unimplemented]: "unimplemented",
  [Code.Internal]: "internal",
  [Code.Unavailable]: "unavailable",
  [Code.DataLoss]: "data_loss",
  [Code.Unauthenticated]: "unauthenticated",
};

export interface AgentErrorContext {
  /** What was tried, as the start of the sentence. */
  readonly what: string;
  readonly scope: RequestScope;
  /** `reason` of a not_found. */
  readonly notFoundReason?: string;
  /** The limit that a deadline_exceeded means, for streams that have one. */
  readonly streamTimeoutMs?: number;
  /** Without it the cause of a lost connection is not examined. */
  readonly probe?: Probe | undefined;
}

/** Turns any failure of a call to the agent into an error of this package. After a lost connection it asks `probe` whether the sandbox has ended. */
export async function agentError(error: unknown, context: AgentErrorContext): Promise<BoxyardError> {
  if (error instanceof BoxyardError) return error;
  const ended = context.scope.failure(error);
  if (ended) return ended;
  const connectError = ConnectError.from(error);
  if (connectError.cause instanceof BoxyardError) return connectError.cause;
  const code = CODES[connectError.code] ?? "unknown";
  const message = `${context.what}: ${connectError.rawMessage}`;
  const requestId = connectError.metadata.get("x-request-id") ?? undefined;
  if (code === "deadline_exceeded" && context.streamTimeoutMs) {
    const text = `${context.what}: ended after ${context.streamTimeoutMs} ms (timeoutMs; 0 means no limit)`;
    return new TimeoutError(text, { code, reason: "command_timeout", requestId, cause: error });
  }
  if (isLostConnection(connectError)) {
    return lostConnection(error, context.what, connectError.rawMessage, context.scope, context.probe, requestId);
  }
  // The agent's HTTP layer has refused a wrong token before: `unauthenticated` of a service means an unknown user.
  const reason = code === "not_found" ? context.notFoundReason : code === "unauthenticated" ? "unknown_user" : undefined;
  return errorOf(code, message, { ...(reason ? { reason } : {}), requestId, cause: error });
}

/**
 * True when the error does not come from the agent: what `fetch` throws, and a stream that stops before its end, arrive as `unknown` with a foreign cause; a
 * stream cut inside a message as `data_loss`; a proxy that reaches no agent as `unavailable`.
 */
function isLostConnection(error: ConnectError): boolean {
  if (error.code === Code.Unavailable || error.code === Code.DataLoss) return true;
  return error.code === Code.Unknown && error.cause !== undefined;
}
