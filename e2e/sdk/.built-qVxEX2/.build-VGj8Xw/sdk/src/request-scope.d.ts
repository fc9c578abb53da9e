import { AbortError, TimeoutError } from "./errors.ts";
/** What a single request may override. */
export interface RequestOptions {
    /** Limit for the answer, in milliseconds; 0 means none. Default: the connection's, 60000. */
    readonly requestTimeoutMs?: number | undefined;
    /** Aborts the request in flight; the call fails with an `AbortError`. */
    readonly signal?: AbortSignal | undefined;
}
/** The longest time that timers can hold; beyond it they fire at once. */
export declare const MAX_TIMER_MS = 2147483647;
/**
 * One signal out of the caller's signals and a time limit, which also remembers which of them it was. (`AbortSignal.any` is missing in the
 * first releases of Node 20, and keeps listeners on long-lived signals.)
 */
export declare class RequestScope {
    private readonly controller;
    private readonly detach;
    private timer;
    private cause;
    private began;
    private readonly timeoutMs;
    private readonly what;
    constructor(what: string, timeoutMs: number, signals: readonly (AbortSignal | undefined)[]);
    get signal(): AbortSignal;
    /** Ends what runs under this scope, for a reason of our own. */
    abort(): void;
    /** When the answer began; undefined before that. */
    get beganAt(): number | undefined;
    /** The answer has begun: from here on only the signals count. */
    begin(): void;
    /** No time limit, only signals. */
    clearTimeout(): void;
    /** Lets go of the signals; call it when the request is over. */
    dispose(): void;
    /** The error to throw if this scope was what ended the request, else undefined. */
    failure(cause: unknown): AbortError | TimeoutError | undefined;
    throwIfEnded(): void;
    private follow;
    private end;
}
