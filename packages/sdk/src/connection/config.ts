/** Address of the server, and the API key. Every call accepts these options; an option overrides the environment. */
export interface ConnectionOptions {
  /** Base URL of the platform API. Environment: `BOXYARD_API_URL`. Default `http://127.0.0.1:3000`. */
  readonly apiUrl?: string | undefined;
  /** Environment: `BOXYARD_API_KEY`. `boxyard env` prints it. */
  readonly apiKey?: string | undefined;
  /** Domain of the host names of sandboxes' ports (`<port>-<id>.<domain>`). Default: the domain that the server returns, else the host of `apiUrl`. */
  readonly domain?: string | undefined;
  /** Base URL of all requests to sandboxes, if it differs from `apiUrl`. Environment: `BOXYARD_SANDBOX_URL`. */
  readonly sandboxUrl?: string | undefined;
  /** Time limit for the answer to a request, in milliseconds; 0 means no limit. Default 60000. */
  readonly requestTimeoutMs?: number | undefined;
  /** Aborts the request in progress; the call then fails with an `AbortError`. */
  readonly signal?: AbortSignal | undefined;
  /** Sent with every request to the platform API, never to a sandbox. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** {@link ConnectionOptions} with defaults filled in. */
export interface ConnectionConfig extends ConnectionOptions {
  readonly apiUrl: string;
  readonly requestTimeoutMs: number;
}

const DEFAULT_API_URL = "http://127.0.0.1:3000";
export const DEFAULT_REQUEST_TIMEOUT_MS = 60_000;

/** The environment of Node, Bun or Deno; empty in a browser, where options are given explicitly. */
function environment(): Readonly<Record<string, string | undefined>> {
  const process = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process;
  return process?.env ?? {};
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, "");

/** Fills in the environment and the defaults. */
export function resolveConfig(options: ConnectionOptions = {}): ConnectionConfig {
  const env = environment();
  const sandboxUrl = options.sandboxUrl ?? (env.BOXYARD_SANDBOX_URL || undefined);
  return {
    apiUrl: withoutSlash(options.apiUrl ?? (env.BOXYARD_API_URL || DEFAULT_API_URL)),
    apiKey: options.apiKey ?? (env.BOXYARD_API_KEY || undefined),
    domain: options.domain ?? (env.BOXYARD_DOMAIN || undefined),
    sandboxUrl: sandboxUrl && withoutSlash(sandboxUrl),
    requestTimeoutMs: options.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS,
    signal: options.signal,
    headers: options.headers,
  };
}
