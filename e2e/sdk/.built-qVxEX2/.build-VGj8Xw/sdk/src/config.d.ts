/** Where the server is and who asks. Every call takes these as options too; an option wins over the environment. */
export interface ConnectionOptions {
    /** Base URL of the platform API. Environment: `BOXYARD_API_URL`. Default `http://127.0.0.1:3000`. */
    readonly apiUrl?: string | undefined;
    /** Environment: `BOXYARD_API_KEY`. `boxyard env` prints it. */
    readonly apiKey?: string | undefined;
    /** Domain below which sandboxes' ports have host names (`<port>-<id>.<domain>`). Default: what the server says, else the host of `apiUrl`. */
    readonly domain?: string | undefined;
    /** Base URL of all requests to sandboxes, where it differs from `apiUrl`. Environment: `BOXYARD_SANDBOX_URL`. */
    readonly sandboxUrl?: string | undefined;
    /** Limit for the answer to a request, in milliseconds; 0 means none. Default 60000. */
    readonly requestTimeoutMs?: number | undefined;
    /** Cancels whatever is in flight; the call then fails with an `AbortError`. */
    readonly signal?: AbortSignal | undefined;
    /** Sent with every request to the platform API, never to a sandbox. */
    readonly headers?: Readonly<Record<string, string>> | undefined;
}
/** {@link ConnectionOptions} with defaults filled in. */
export interface ConnectionConfig extends ConnectionOptions {
    readonly apiUrl: string;
    readonly requestTimeoutMs: number;
}
export declare const DEFAULT_API_URL = "http://127.0.0.1:3000";
export declare const DEFAULT_REQUEST_TIMEOUT_MS = 60000;
/** Fills in the environment and the defaults. */
export declare function resolveConfig(options?: ConnectionOptions): ConnectionConfig;
