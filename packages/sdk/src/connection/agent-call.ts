import { basicUser } from "@boxyard/spec";
import type { CallOptions } from "@connectrpc/connect";
import { agentError } from "./agent-errors.ts";
import { DEFAULT_REQUEST_TIMEOUT_MS } from "./config.ts";
import type { Probe } from "./lost-connection.ts";
import { MAX_TIMER_MS, type RequestOptions, RequestScope } from "./request-scope.ts";

/** The settings of the connection that {@link Commands}, {@link Pty} and {@link Files} need; a {@link ConnectionConfig} has them. */
export interface ModuleConfig {
  /** Default 60000. */
  readonly requestTimeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Information about the sandbox's agent. */
export interface ModuleMetadata {
  /** Version of the agent (`envdVersion`). It only matters for operations that an old agent does not have. */
  readonly version: string;
  /** Finds out why a connection was lost. `Sandbox` sets it; without it every lost connection is a `ConnectionError`. */
  readonly probe?: Probe;
}

export interface CallContext {
  readonly config: ModuleConfig;
  readonly metadata: ModuleMetadata;
}

/** Interval at which the agent sends something on a silent stream, so that no proxy on the way closes it. */
const KEEPALIVE_SECONDS = "50";

export function scopeFor(context: CallContext, what: string, options: RequestOptions): RequestScope {
  const timeoutMs = options.requestTimeoutMs ?? context.config.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS;
  return new RequestScope(what, timeoutMs, [context.config.signal, options.signal]);
}

/** The agent takes the acting user from Basic authentication; the password is empty. */
function userHeader(user: string | undefined): Record<string, string> {
  if (user === undefined) return {};
  return { Authorization: basicUser(user) };
}

/** A call with one answer. */
export async function unary<T>(
  context: CallContext,
  what: string,
  options: RequestOptions & { readonly user?: string | undefined; readonly notFoundReason?: string },
  call: (callOptions: CallOptions) => Promise<T>,
): Promise<T> {
  const scope = scopeFor(context, what, options);
  try {
    scope.throwIfEnded();
    return await call({ signal: scope.signal, headers: userHeader(options.user) });
  } catch (error) {
    const { notFoundReason } = options;
    throw await agentError(error, { what, scope, probe: context.metadata.probe, ...(notFoundReason ? { notFoundReason } : {}) });
  } finally {
    scope.dispose();
  }
}

/** Options of a streaming call: `timeoutMs` bounds the stream (and, for a start, the command); 0 means no limit. */
export function streamCallOptions(scope: RequestScope, timeoutMs: number, user: string | undefined): CallOptions {
  return {
    signal: scope.signal,
    // Longer limits than a timer can hold are no limit.
    ...(timeoutMs > 0 && timeoutMs <= MAX_TIMER_MS ? { timeoutMs } : {}),
    headers: { "Keepalive-Ping-Interval": KEEPALIVE_SECONDS, ...userHeader(user) },
  };
}
