/** Time, injected: nothing below a `main.ts` reads the machine's clock itself. Durations are milliseconds. */
export interface Clock {
  /** Wall time, milliseconds since 1970 (UTC). */
  now(): number;
  /** Monotonic time in milliseconds, for measuring and deadlines. */
  monotonic(): number;
  /** Resolves after `ms`, or rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      }, ms);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  },
};

/** A clock that moves only when told to. `sleep` resolves when `advance` passes its end. */
export class FakeClock implements Clock {
  private time: number;
  private readonly sleepers = new Set<{ at: number; wake: () => void }>();

  constructor(start = 0) {
    this.time = start;
  }

  now(): number {
    return this.time;
  }

  monotonic(): number {
    return this.time;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const sleeper = { at: this.time + ms, wake: resolve };
      this.sleepers.add(sleeper);
      signal?.addEventListener("abort", () => this.sleepers.delete(sleeper) && reject(signal.reason), { once: true });
    });
  }

  /** Moves time forward, waking sleepers in order, and lets their continuations run. */
  async advance(ms: number): Promise<void> {
    const end = this.time + ms;
    for (;;) {
      const due = [...this.sleepers].filter((s) => s.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.sleepers.delete(due);
      this.time = Math.max(this.time, due.at);
      due.wake();
      await Promise.resolve();
    }
    this.time = end;
    await Promise.resolve();
  }
}
