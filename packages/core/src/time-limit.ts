import { type Clock, systemClock } from "./clock.ts";

/** Calls `work` once, after `ms` milliseconds by the clock. The returned function cancels that; it is repeatable. What repeats is `Rounds`. */
export function later(ms: number, work: () => void, clock: Clock = systemClock): () => void {
  const cancelled = new AbortController();
  clock.sleep(ms, cancelled.signal).then(work, () => {});
  return () => cancelled.abort();
}

/**
 * A time limit by the injected clock, which `AbortSignal.timeout` does not ask. `signal` aborts with an error of the name `TimeoutError` after `ms`
 * milliseconds, unless the limit is disposed of before.
 */
export class TimeLimit implements Disposable {
  private readonly over = new AbortController();
  private readonly ms: number;
  private readonly clock: Clock;
  private cancel: () => void = () => {};

  constructor(ms: number, clock: Clock = systemClock) {
    this.ms = ms;
    this.clock = clock;
    this.renew();
  }

  get signal(): AbortSignal {
    return this.over.signal;
  }

  /** True when the time is over. */
  get isOver(): boolean {
    return this.over.signal.aborted;
  }

  /** Begins the time anew, if it is not over. */
  renew(): void {
    this.cancel();
    this.cancel = later(this.ms, () => this.over.abort(new DOMException("The operation timed out.", "TimeoutError")), this.clock);
  }

  [Symbol.dispose](): void {
    this.cancel();
  }
}
