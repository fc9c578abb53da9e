import type { CallOptions } from "@connectrpc/connect";
import type { Probe } from "./lost-connection.ts";
import { type RequestOptions, RequestScope } from "./request-scope.ts";
/** What the modules of a sandbox need of the connection's settings; a {@link ConnectionConfig} is one. */
export interface ModuleConfig {
    /** Default 60000. */
    readonly requestTimeoutMs?: number | undefined;
    readonly signal?: AbortSignal | undefined;
}
/** About the sandbox's agent. */
export interface ModuleMetadata {
    /** Version of the agent (`envdVersion`); behaviour depends on it only where an old agent lacks an operation. */
    readonly version: string;
    /** Looks into a lost connection. `Sandbox` gives it; without it a lost connection is a `ConnectionError`. */
    readonly probe?: Probe;
}
export interface CallContext {
    readonly config: ModuleConfig;
    readonly metadata: ModuleMetadata;
}
export declare function scopeFor(context: CallContext, what: string, options: RequestOptions): RequestScope;
/** The agent takes the acting user from Basic authentication; the password is empty. */
export declare function userHeader(user: string | undefined): Record<string, string>;
/** A call with one answer. */
export declare function unary<T>(context: CallContext, what: string, options: RequestOptions & {
    readonly user?: string | undefined;
    readonly notFoundReason?: string;
}, call: (callOptions: CallOptions) => Promise<T>): Promise<T>;
/** Options of a streaming call: `timeoutMs` bounds the stream (and, for a start, the command); 0 means no limit. */
export declare function streamCallOptions(scope: RequestScope, timeoutMs: number, user: string | undefined): CallOptions;
