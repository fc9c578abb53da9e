import { AbortError, TimeoutError } from "../errors.ts";

/** Options of a single request; they override those of the connection. */
export interface RequestOptions {
  /** Time limit for the answer, in milliseconds; 0 means no limit. Default: that of the connection, 60000. */
  readonly requestTimeoutMs?: number | undefined;
  /** Aborts the request in progress; the call then fails with an `AbortError`. */
  readonly signal?: AbortSignal | undefined;
}

/** The longest time that timers can hold; beyond it they fire at once. */
export const MAX_TIMER_MS = 2_147_483_647;

/**
 * Combines the caller's signals and a time limit in one signal, and remembers which of them ended the request. (`AbortSignal.any` is missing in the
 * first releases of Node 20, and keeps listeners on long-lived signals.)
 */
export class RequestScope {
  private readonly controller = new AbortController();
  private readonly detach: (() => void)[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private cause: "timeout" | "abort" | undefined;
  private began: number | undefined;
  private readonly timeoutMs: number;
  private readonly what: string;

  constructor(what: string, timeoutMs: number, signals: readonly (AbortSignal | undefined)[]) {
    this.what = what;
    this.timeoutMs = timeoutMs;
    for (const signal of signals) this.follow(signal);
    if (timeoutMs > 0 && timeoutMs <= MAX_TIMER_MS) this.timer = setTimeout(() => this.end("timeout", undefined), timeoutMs);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Ends what runs under this scope, for a reason of our own. */
  abort(): void {
    this.controller.abort();
  }

  /** When the answer began; undefined before that. */
  get beganAt(): number | undefined {
    return this.began;
  }

  /** The answer has begun: from here on only the signals count. */
  begin(): void {
    this.began = Date.now();
    this.clearTimeout();
  }

  /** No time limit, only signals. */
  clearTimeout(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  /** Removes its listeners from the signals; call it when the request is over. */
  dispose(): void {
    this.clearTimeout();
    for (const detach of this.detach.splice(0)) detach();
  }

  /** The error to throw if this scope was what ended the request, else undefined. */
  failure(cause: unknown): AbortError | TimeoutError | undefined {
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

  throwIfEnded(): void {
    const failure = this.failure(undefined);
    if (failure) throw failure;
  }

  private follow(signal: AbortSignal | undefined): void {
    if (!signal) return;
    if (signal.aborted) {
      this.end("abort", signal.reason);
      return;
    }
    const onAbort = () => this.end("abort", signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    this.detach.push(() => signal.removeEventListener("abort", onAbort));
  }

  private end(cause: "timeout" | "abort", reason: unknown): void {
    if (this.cause) return;
    this.cause = cause;
    this.controller.abort(reason);
  }
}
