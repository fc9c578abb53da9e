import { AuthenticationError, BoxyardError, ConnectionError } from "./errors.js";
import { errorFromResponse } from "./http-errors.js";
import { RequestScope } from "./request-scope.js";
import { ServerRuns } from "./server-runs.js";
import { SDK_VERSION } from "./version.js";
/** Repeats after the first attempt; those that wait for an earlier attempt to end do not count. */
const MAX_REPEATS = 3;
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 10_000;
/**
 * Requests to the platform API. An attempt is repeated, with growing waits and within the one request timeout, when the server says that
 * nothing happened (429, 503, `idempotency_in_progress`), or, where repeating is safe, when the connection or a gateway failed (502, 504).
 * `Should-Retry: false` is obeyed, and so is `Retry-After` in seconds.
 */
export class ApiClient {
    config;
    runs;
    constructor(config) {
        this.config = config;
        this.runs = new ServerRuns(config.apiUrl);
    }
    async send(request) {
        const timeoutMs = request.options?.requestTimeoutMs ?? this.config.requestTimeoutMs;
        const scope = new RequestScope(request.what, timeoutMs, [this.config.signal, request.options?.signal]);
        const deadline = timeoutMs > 0 ? Date.now() + timeoutMs : Number.POSITIVE_INFINITY;
        try {
            let mayBeDone = false;
            for (let attempt = 0, counted = 0;; attempt++) {
                scope.throwIfEnded();
                const outcome = await this.attempt(request, scope, mayBeDone);
                if ("value" in outcome)
                    return outcome.value;
                mayBeDone ||= !outcome.nothingHappened;
                const waitMs = outcome.repeatAfterMs ?? Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS) * (0.5 + Math.random() / 2);
                // The earlier attempt is still at work: only the deadline says when that takes too long.
                const isCounted = outcome.error.reason !== "idempotency_in_progress";
                if (!outcome.mayRepeat || (isCounted && counted >= MAX_REPEATS) || Date.now() + waitMs >= deadline)
                    throw outcome.error;
                if (isCounted)
                    counted++;
                await sleep(waitMs, scope.signal);
            }
        }
        finally {
            scope.dispose();
        }
    }
    async attempt(request, scope, mayBeDone) {
        const repeatable = request.repeatable ?? (request.method !== "POST" && request.method !== "PATCH");
        let response;
        try {
            response = await fetch(this.config.apiUrl + request.path, {
                method: request.method,
                headers: this.headers(request),
                signal: scope.signal,
                ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
            });
            this.runs.note(response);
            if (response.ok || request.accept?.includes(response.status))
                return { value: await request.read(response, mayBeDone) };
        }
        catch (cause) {
            const ended = scope.failure(cause);
            if (ended)
                throw ended;
            if (cause instanceof BoxyardError)
                throw cause;
            const text = `${request.what}: no answer from ${this.config.apiUrl}. Is the server running there? (${describe(cause)})`;
            const error = new ConnectionError(text, { code: "unavailable", reason: "network_failed", cause });
            return { error, mayRepeat: repeatable, nothingHappened: false };
        }
        const error = await errorFromResponse(response, request.what, request.notFoundReason);
        scope.throwIfEnded();
        return { error, ...repeatPolicy(response, error, repeatable) };
    }
    headers(request) {
        if (!this.config.apiKey) {
            const message = `${request.what}: no API key. Set BOXYARD_API_KEY (boxyard env prints it) or pass the option apiKey`;
            throw new AuthenticationError(message, { code: "unauthenticated", reason: "api_key_missing" });
        }
        return {
            ...this.config.headers,
            "X-API-Key": this.config.apiKey,
            "User-Agent": `boxyard-sdk-js/${SDK_VERSION}`,
            Accept: "application/json",
            ...(request.body === undefined ? {} : { "Content-Type": "application/json" }),
            ...request.headers,
        };
    }
}
function repeatPolicy(response, error, repeatable) {
    const shouldRetry = response.headers.get("should-retry");
    const after = response.headers.get("retry-after");
    const repeatAfterMs = after && /^\d{1,9}$/.test(after) ? Number(after) * 1000 : undefined;
    const nothingHappened = response.status === 429 || response.status === 503 || error.reason === "idempotency_in_progress";
    const gatewayFailed = response.status === 502 || response.status === 504;
    const mayRepeat = shouldRetry === null ? nothingHappened || (gatewayFailed && repeatable) : shouldRetry === "true";
    return { mayRepeat, nothingHappened, repeatAfterMs };
}
export function describe(cause) {
    for (let e = cause, depth = 0; e instanceof Error && depth < 5; e = e.cause, depth++) {
        const code = e.code;
        if (typeof code === "string")
            return code;
    }
    return cause instanceof Error ? cause.message : String(cause);
}
/** Waits `ms`, or less when the signal aborts; the caller looks at the signal itself. */
export function sleep(ms, signal) {
    return new Promise((resolve) => {
        if (signal?.aborted)
            return resolve();
        const done = () => {
            clearTimeout(timer);
            signal?.removeEventListener("abort", done);
            resolve();
        };
        const timer = setTimeout(done, ms);
        signal?.addEventListener("abort", done, { once: true });
    });
}
