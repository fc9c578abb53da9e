import { AppError, type Clock } from "@boxyard/core";

export interface GateLimits {
  /** Creates worked on at once. */
  readonly concurrent: number;
  /** Creates that may wait for their turn. */
  readonly queued: number;
  /** Longest wait. */
  readonly waitMs: number;
}

interface Waiter {
  readonly enter: () => void;
}

/** Lets a bounded number of creates work at once, and a bounded number wait, in their order. */
export class CreateGate {
  private readonly limits: GateLimits;
  private readonly clock: Clock;
  private inside = 0;
  private readonly waiting = new Set<Waiter>();

  constructor(limits: GateLimits, clock: Clock) {
    this.limits = limits;
    this.clock = clock;
  }

  /** Runs `work` when its turn comes. Throws `resource_exhausted` when the queue is full, `unavailable` after too long a wait. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.inside >= this.limits.concurrent) await this.wait(signal);
    else this.inside += 1;
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  private async wait(signal: AbortSignal): Promise<void> {
    if (this.waiting.size >= this.limits.queued) {
      throw new AppError("resource_exhausted", "Too many sandboxes are being created at once; try again in a moment", {
        reason: "too_many_creates",
        details: { retryAfter: 1 },
      });
    }
    const stop = new AbortController();
    const turn = Promise.withResolvers<"turn">();
    const waiter: Waiter = { enter: () => turn.resolve("turn") };
    this.waiting.add(waiter);
    const limit = this.clock.sleep(this.limits.waitMs, AbortSignal.any([signal, stop.signal])).then(() => "late" as const);
    try {
      const outcome = await Promise.race([turn.promise, limit]);
      if (outcome === "turn") return;
      throw new AppError("unavailable", "The server is busy creating other sandboxes; try again", {
        reason: "sandbox_capacity_unavailable",
        details: { retryAfter: 2 },
      });
    } catch (error) {
      // A turn that came together with the end of the wait must not get lost.
      if (!this.waiting.has(waiter)) this.leave();
      throw error;
    } finally {
      this.waiting.delete(waiter);
      stop.abort();
      limit.catch(() => {});
    }
  }

  /** Hands the place to the next in the queue, if there is one. */
  private leave(): void {
    const [next] = this.waiting;
    if (!next) {
      this.inside -= 1;
      return;
    }
    this.waiting.delete(next);
    next.enter();
  }
}
