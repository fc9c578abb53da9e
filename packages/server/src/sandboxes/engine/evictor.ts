import type { Clock } from "@boxyard/core";
import { DueTimes } from "./due-times.ts";

/** Longest sleep, and so the most that an end can be late when the wall clock jumps. */
const MAX_SLEEP_MS = 1000;

/**
 * Calls `onDue` for each sandbox when its time is over. The store has the times too; this holds them in memory and sleeps until the next one.
 * Each id is passed once; the receiver ends the sandbox or sets a new time.
 */
export class Evictor {
  private readonly clock: Clock;
  private readonly onDue: (id: string) => void;
  private readonly mayEnd: () => boolean;
  private readonly times = new DueTimes();
  private wake = new AbortController();
  private stopped = false;
  private wakesAt = Number.POSITIVE_INFINITY;
  private loop: Promise<void> | undefined;

  /** `mayEnd`: while it gives false, ends that have come wait. */
  constructor(clock: Clock, onDue: (id: string) => void, mayEnd: () => boolean = () => true) {
    this.clock = clock;
    this.onDue = onDue;
    this.mayEnd = mayEnd;
  }

  start(): void {
    this.loop ??= this.run();
  }

  set(id: string, at: number): void {
    this.times.set(id, at);
    if (at < this.wakesAt) this.wake.abort();
  }

  delete(id: string): void {
    this.times.delete(id);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.wake.abort();
    await this.loop;
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      const now = this.clock.now();
      let next = now + MAX_SLEEP_MS;
      if (this.mayEnd()) {
        for (const id of this.times.takeDue(now)) this.onDue(id);
        next = Math.min(next, this.times.next() ?? next);
      }
      this.wakesAt = next;
      this.wake = new AbortController();
      await this.clock.sleep(next - now, this.wake.signal).catch(() => {});
    }
  }
}
