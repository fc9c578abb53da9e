import { type Clock, systemClock } from "@boxyard/core";

/** What looks at the wall clock again and again, in case it jumps, sleeps no longer than this between two looks. */
const LONGEST_LOOK_MS = 1000;

/**
 * The machine's clock, whose wall time a test sets forward: an hour costs the test nothing. A jump ends each sleep of at most `wakesUpToMs` (a second by
 * default), as if its time were over, so that what waits for a wall time sees the jump at once. Longer sleeps (rounds, limits of calls) go on, and
 * `monotonic` stays that of the machine.
 */
export class JumpClock implements Clock {
  private readonly wakesUpToMs: number;
  private readonly sleepers = new Set<() => void>();
  private aheadMs = 0;

  constructor(wakesUpToMs = LONGEST_LOOK_MS) {
    this.wakesUpToMs = wakesUpToMs;
  }

  now(): number {
    return systemClock.now() + this.aheadMs;
  }

  monotonic(): number {
    return systemClock.monotonic();
  }

  readonly sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    if (ms > this.wakesUpToMs) return systemClock.sleep(ms, signal);
    const jumped = Promise.withResolvers<void>();
    const over = new AbortController();
    this.sleepers.add(jumped.resolve);
    try {
      await Promise.race([systemClock.sleep(ms, signal ? AbortSignal.any([signal, over.signal]) : over.signal), jumped.promise]);
    } finally {
      this.sleepers.delete(jumped.resolve);
      over.abort();
    }
  };

  /** Sets the wall time forward. */
  jump(ms: number): void {
    this.aheadMs += ms;
    for (const wake of this.sleepers) wake();
  }
}
