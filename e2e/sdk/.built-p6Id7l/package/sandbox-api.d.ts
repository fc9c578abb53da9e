import type { ApiClient } from "./api-client.js";
import type { RequestOptions } from "./request-scope.js";
import { type SandboxAccess, type SandboxInfo, type SandboxMetrics } from "./sandbox-info.js";
export interface LifecycleOptions {
  /** What happens when the time is up. Default `kill`. */
  readonly onTimeout?: "kill" | "pause" | undefined;
  /** Resume a paused sandbox when a request comes for it. Default false. */
  readonly autoResume?: boolean | undefined;
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
  readonly lifecycle?: LifecycleOptions | undefined;
  /** Names this creation: a repeat with the same key answers with the same sandbox. Default: a new key for each call. */
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
/** A lifetime as the API takes it: whole seconds, rounded up. */
export declare const lifetimeSeconds: (timeoutMs: number) => number;
export declare function createSandbox(api: ApiClient, opts: CreateOptions, options: RequestOptions): Promise<SandboxAccess>;
export declare function connectSandbox(
  api: ApiClient,
  id: string,
  timeoutMs: number | undefined,
  options: RequestOptions,
): Promise<SandboxAccess>;
export declare function getSandboxInfo(api: ApiClient, id: string, options: RequestOptions): Promise<SandboxInfo>;
/** False when there was no such sandbox. */
export declare function killSandbox(api: ApiClient, id: string, options: RequestOptions): Promise<boolean>;
export declare function setSandboxTimeout(api: ApiClient, id: string, timeoutMs: number, options: RequestOptions): Promise<void>;
export declare function getSandboxMetrics(
  api: ApiClient,
  id: string,
  range: {
    readonly start?: Date | undefined;
    readonly end?: Date | undefined;
  },
  options: RequestOptions,
): Promise<SandboxMetrics[]>;
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextToken: string | undefined;
}
export declare function listSandboxes(api: ApiClient, opts: ListOptions, options: RequestOptions): Promise<Page<SandboxInfo>>;
