import type { ConnectionConfig } from "./config.ts";
import { type RequestOptions } from "./request-scope.ts";
import { ServerRuns } from "./server-runs.ts";
export interface ApiRequest<T> {
    readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
    /** Path and query below the API URL, already encoded. */
    readonly path: string;
    /** What is tried, as the start of an error's sentence ("create sandbox"). */
    readonly what: string;
    readonly body?: unknown;
    readonly headers?: Readonly<Record<string, string>>;
    /** `reason` of a 404. */
    readonly notFoundReason?: string;
    /** True when doing it twice has the effect of doing it once. Default: true for all methods but POST and PATCH. */
    readonly repeatable?: boolean;
    readonly options?: RequestOptions;
    /** Reads the successful answer; `mayBeDone` says that an earlier attempt may have taken effect already. */
    readonly read: (response: Response, mayBeDone: boolean) => Promise<T>;
    /** Statuses beside 2xx that `read` understands. */
    readonly accept?: readonly number[];
}
/**
 * Requests to the platform API. An attempt is repeated, with growing waits and within the one request timeout, when the server says that
 * nothing happened (429, 503, `idempotency_in_progress`), or, where repeating is safe, when the connection or a gateway failed (502, 504).
 * `Should-Retry: false` is obeyed, and so is `Retry-After` in seconds.
 */
export declare class ApiClient {
    readonly config: ConnectionConfig;
    readonly runs: ServerRuns;
    constructor(config: ConnectionConfig);
    send<T>(request: ApiRequest<T>): Promise<T>;
    private attempt;
    private headers;
}
export declare function describe(cause: unknown): string;
/** Waits `ms`, or less when the signal aborts; the caller looks at the signal itself. */
export declare function sleep(ms: number, signal?: AbortSignal): Promise<void>;
