import type { Clock, SandboxId } from "@boxyard/core";
import type { NetworkAttempt, TakenAttempts } from "@boxyard/driver";

/** Attempts a second of one sandbox that are kept, and how many at once. */
const RATE = { perSecond: 20, burst: 100 } as const;
/** Attempts of all sandboxes that wait to be taken. */
const MOST_WAITING = 5000;

interface Bucket {
  left: number;
  at: number;
}

/** Collects what sandboxes try to reach until it is taken. What one of them does too often is counted and not kept. */
export class Attempts {
  private readonly clock: Clock;
  private waiting: NetworkAttempt[] = [];
  private dropped = new Map<SandboxId, number>();
  private readonly buckets = new Map<SandboxId, Bucket>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  note(attempt: Omit<NetworkAttempt, "at">): void {
    const { sandboxId } = attempt;
    if (this.waiting.length < MOST_WAITING && this.mayKeep(sandboxId)) this.waiting.push({ ...attempt, at: this.clock.now() });
    else this.dropped.set(sandboxId, (this.dropped.get(sandboxId) ?? 0) + 1);
  }

  take(): TakenAttempts {
    const taken = { attempts: this.waiting, dropped: this.dropped };
    this.waiting = [];
    this.dropped = new Map();
    const now = this.clock.monotonic();
    for (const [id, { at }] of this.buckets) if (now - at > (RATE.burst / RATE.perSecond) * 1000) this.buckets.delete(id);
    return taken;
  }

  private mayKeep(id: SandboxId): boolean {
    const now = this.clock.monotonic();
    const { left, at } = this.buckets.get(id) ?? { left: RATE.burst, at: now };
    const filled = Math.min(RATE.burst, left + ((now - at) / 1000) * RATE.perSecond);
    this.buckets.set(id, { left: filled < 1 ? filled : filled - 1, at: now });
    return filled >= 1;
  }
}
