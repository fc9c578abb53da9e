export const DEFAULT_API_URL = "http://127.0.0.1:3000";
export const DEFAULT_REQUEST_TIMEOUT_MS = 60_000;
/** The environment of Node, Bun or Deno; empty in a browser, where options are given explicitly. */
function environment() {
    const process = globalThis.process;
    return process?.env ?? {};
}
const withoutSlash = (url) => url.replace(/\/+$/, "");
/** Fills in the environment and the defaults. */
export function resolveConfig(options = {}) {
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
