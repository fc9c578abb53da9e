import { agentError } from "./agent-errors.js";
import { DEFAULT_REQUEST_TIMEOUT_MS } from "./config.js";
import { MAX_TIMER_MS, RequestScope } from "./request-scope.js";
/** Interval at which the agent sends something on a silent stream, so that nothing on the way closes it. */
const KEEPALIVE_SECONDS = "50";
export function scopeFor(context, what, options) {
    const timeoutMs = options.requestTimeoutMs ?? context.config.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS;
    return new RequestScope(what, timeoutMs, [context.config.signal, options.signal]);
}
/** The agent takes the acting user from Basic authentication; the password is empty. */
export function userHeader(user) {
    if (user === undefined)
        return {};
    let bytes = "";
    for (const byte of new TextEncoder().encode(`${user}:`))
        bytes += String.fromCharCode(byte);
    return { Authorization: `Basic ${btoa(bytes)}` };
}
/** A call with one answer. */
export async function unary(context, what, options, call) {
    const scope = scopeFor(context, what, options);
    try {
        scope.throwIfEnded();
        return await call({ signal: scope.signal, headers: userHeader(options.user) });
    }
    catch (error) {
        const { notFoundReason } = options;
        throw await agentError(error, { what, scope, probe: context.metadata.probe, ...(notFoundReason ? { notFoundReason } : {}) });
    }
    finally {
        scope.dispose();
    }
}
/** Options of a streaming call: `timeoutMs` bounds the stream (and, for a start, the command); 0 means no limit. */
export function streamCallOptions(scope, timeoutMs, user) {
    return {
        signal: scope.signal,
        // Longer limits than a timer can hold are no limit.
        ...(timeoutMs > 0 && timeoutMs <= MAX_TIMER_MS ? { timeoutMs } : {}),
        headers: { "Keepalive-Ping-Interval": KEEPALIVE_SECONDS, ...userHeader(user) },
    };
}
