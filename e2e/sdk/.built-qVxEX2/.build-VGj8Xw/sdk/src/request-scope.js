import { AbortError, TimeoutError } from "./errors.js";
/** The longest time that timers can hold; beyond it they fire at once. */
export const MAX_TIMER_MS = 2_147_483_647;
/**
 * One signal out of the caller's signals and a time limit, which also remembers which of them it was. (`AbortSignal.any` is missing in the
 * first releases of Node 20, and keeps listeners on long-lived signals.)
 */
export class RequestScope {
    controller = new AbortController();
    detach = [];
    timer;
    cause;
    began;
    timeoutMs;
    what;
    constructor(what, timeoutMs, signals) {
        this.what = what;
        this.timeoutMs = timeoutMs;
        for (const signal of signals)
            this.follow(signal);
        if (timeoutMs > 0 && timeoutMs <= MAX_TIMER_MS)
            this.timer = setTimeout(() => this.end("timeout", undefined), timeoutMs);
    }
    get signal() {
        return this.controller.signal;
    }
    /** Ends what runs under this scope, for a reason of our own. */
    abort() {
        this.controller.abort();
    }
    /** When the answer began; undefined before that. */
    get beganAt() {
        return this.began;
    }
    /** The answer has begun: from here on only the signals count. */
    begin() {
        this.began = Date.now();
        this.clearTimeout();
    }
    /** No time limit, only signals. */
    clearTimeout() {
        clearTimeout(this.timer);
        this.timer = undefined;
    }
    /** Lets go of the signals; call it when the request is over. */
    dispose() {
        this.clearTimeout();
        for (const detach of this.detach.splice(0))
            detach();
    }
    /** The error to throw if this scope was what ended the request, else undefined. */
    failure(cause) {
        if (this.cause === "timeout") {
            const message = `${this.what}: no answer within ${this.timeoutMs} ms (requestTimeoutMs)`;
            return new TimeoutError(message, { code: "deadline_exceeded", reason: "request_timeout", cause });
        }
        if (this.cause === "abort") {
            return new AbortError(`${this.what}: aborted`, {
                code: "canceled",
                reason: "aborted",
                cause: this.controller.signal.reason ?? cause,
            });
        }
        return undefined;
    }
    throwIfEnded() {
        const failure = this.failure(undefined);
        if (failure)
            throw failure;
    }
    follow(signal) {
        if (!signal)
            return;
        if (signal.aborted) {
            this.end("abort", signal.reason);
            return;
        }
        const onAbort = () => this.end("abort", signal.reason);
        signal.addEventListener("abort", onAbort, { once: true });
        this.detach.push(() => signal.removeEventListener("abort", onAbort));
    }
    end(cause, reason) {
        if (this.cause)
            return;
        this.cause = cause;
        this.controller.abort(reason);
    }
}
