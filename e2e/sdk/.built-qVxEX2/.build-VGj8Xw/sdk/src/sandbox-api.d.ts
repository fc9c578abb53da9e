import type { ApiClient } from "./api-client.ts";
import type { RequestOptions } from "./request-scope.ts";
import { type SandboxAccess, type SandboxInfo, type SandboxLogEntry, type SandboxMetrics } from "./sandbox-info.ts";
export interface LifecycleOptions {
    /** What happens when the time is up. Default `kill`. */
    readonly onTimeout?: "kill" | "pause" | undefined;
    /** Resume a paused sandbox when a request comes for it. Default false. */
    readonly autoResume?: boolean | undefined;
}
/** What may leave a sandbox. Addresses and ranges; an allowed one wins over a denied one. Private ranges stay closed whatever is said here. */
export interface EgressRules {
    /** `1.2.3.4`, `10.0.0.0/8`, or domains (`example.com`, `*.example.com`), which need `0.0.0.0/0` among the denied ones. */
    readonly allowOut?: readonly string[] | undefined;
    /** Addresses and ranges. */
    readonly denyOut?: readonly string[] | undefined;
}
/** Who may talk to whom. The server refuses what it cannot enforce, and ignores nothing. */
export interface NetworkOptions extends EgressRules {
    /** False: requests to the sandbox's ports need the header of `trafficAccessToken`. Default true. */
    readonly allowPublicTraffic?: boolean | undefined;
    /** `Host` header that services in the sandbox see; `${PORT}` in it becomes the port. */
    readonly maskRequestHost?: string | undefined;
}
/** Replaces all egress rules; what is left out is cleared. */
export interface NetworkUpdate extends EgressRules {
    /** False: no way out of the sandbox. Default true. */
    readonly allowInternetAccess?: boolean | undefined;
}
export interface CreateOptions {
    /** Name or id of a template, or id of a snapshot. Default `base`. */
    readonly template?: string | undefined;
    /** Lifetime in milliseconds from now. Default 300000; `setTimeout` changes it. */
    readonly timeoutMs?: number | undefined;
    /** Your own keys and values; `list` can filter by them. */
    readonly metadata?: Readonly<Record<string, string>> | undefined;
    /** Environment variables of every command. */
    readonly envs?: Readonly<Record<string, string>> | undefined;
    /** False: no way out of the sandbox. Default true. */
    readonly allowInternetAccess?: boolean | undefined;
    readonly network?: NetworkOptions | undefined;
    readonly lifecycle?: LifecycleOptions | undefined;
    /**
     * Names this creation: a repeat with the same key answers with the same sandbox. Default: a new key for each call; then what a call makes
     * that is aborted, or takes too long, is killed in the background.
     */
    readonly idempotencyKey?: string | undefined;
}
export interface ListOptions extends RequestOptions {
    /** Only these states. Default: all. */
    readonly state?: readonly ("running" | "paused")[] | undefined;
    /** Only sandboxes whose metadata has all of these. */
    readonly metadata?: Readonly<Record<string, string>> | undefined;
    /** Only sandboxes of this template. */
    readonly template?: string | undefined;
    /** By start time. Default `desc`. */
    readonly order?: "asc" | "desc" | undefined;
    /** Page size, 1 to 100. Default 100. */
    readonly limit?: number | undefined;
    /** Where to go on, from an earlier page. */
    readonly nextToken?: string | undefined;
}
export declare const NO_SANDBOX = "sandbox_not_found";
/** A lifetime as the API takes it: whole seconds, rounded up. */
export declare const lifetimeSeconds: (timeoutMs: number) => number;
export declare const sandboxPath: (id: string, rest?: string) => string;
/** What is given up while it is under way is undone in the background, unless the caller named the creation and may come back for it. */
export declare function createSandbox(api: ApiClient, opts: CreateOptions, options: RequestOptions): Promise<SandboxAccess>;
export declare function connectSandbox(api: ApiClient, id: string, timeoutMs: number | undefined, options: RequestOptions): Promise<SandboxAccess>;
export declare function getSandboxInfo(api: ApiClient, id: string, options: RequestOptions): Promise<SandboxInfo>;
/** False when there was no such sandbox. */
export declare function killSandbox(api: ApiClient, id: string, options: RequestOptions): Promise<boolean>;
export declare function setSandboxTimeout(api: ApiClient, id: string, timeoutMs: number, options: RequestOptions): Promise<void>;
export declare function updateSandboxNetwork(api: ApiClient, id: string, update: NetworkUpdate, options: RequestOptions): Promise<void>;
export declare function getSandboxMetrics(api: ApiClient, id: string, range: {
    readonly start?: Date | undefined;
    readonly end?: Date | undefined;
}, options: RequestOptions): Promise<SandboxMetrics[]>;
export interface LogOptions {
    /** Only what happened from then on. Default: all that is kept. */
    readonly since?: Date | undefined;
    /** The lowest level. Default `debug`. */
    readonly level?: SandboxLogEntry["level"] | undefined;
    /** Only lines that hold this text, whatever its case. */
    readonly search?: string | undefined;
    /** At most so many, the oldest; 1 to 1000. Default 1000. */
    readonly limit?: number | undefined;
}
export declare function getSandboxLogs(api: ApiClient, id: string, opts: LogOptions, options: RequestOptions): Promise<SandboxLogEntry[]>;
export interface Page<T> {
    readonly items: readonly T[];
    readonly nextToken: string | undefined;
}
export declare function listSandboxes(api: ApiClient, opts: ListOptions, options: RequestOptions): Promise<Page<SandboxInfo>>;
