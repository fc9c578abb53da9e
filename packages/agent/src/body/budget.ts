import { AppError } from "@boxyard/core";
import { after } from "../timers.ts";

export interface BudgetLimits {
  /** Bytes that all bodies together may hold. */
  readonly totalBytes: number;
  /** Bytes of each body that are not counted, so that large requests never make a small one fail. */
  readonly freeBytes: number;
  /** How long a body waits for its turn before it is refused. */
  readonly waitMs: number;
  /** `collect` is called each time that so many bytes have been claimed, whether they were released or not. */
  readonly collectBytes: number;
}

interface Waiter {
  readonly bytes: number;
  readonly grant: () => void;
}

/**
 * The memory that request bodies and the messages made of them may take, over all requests together. Each request that holds a whole body
 * has a claim. A claim that does not fit waits, in order of arrival; its connection is not read meanwhile.
 */
export class BodyBudget {
  private readonly limits: BudgetLimits;
  private used = 0;
  private waiting: Waiter[] = [];
  private sinceCollect = 0;
  private readonly collect: () => void;

  /** `collect` runs the garbage collector. By itself the runtime frees the memory of earlier bodies late, at many times the bound. */
  constructor(limits: BudgetLimits, collect: () => void) {
    this.limits = limits;
    this.collect = collect;
  }

  /** Bytes that are claimed now. */
  get usedBytes(): number {
    return this.used;
  }

  /** A claim on nothing yet. Always ends with `release`. */
  claim(): BodyClaim {
    return new BodyClaim(this, this.limits.freeBytes);
  }

  /** For claims. Throws `resource_exhausted` when there is no room within the wait. */
  async take(bytes: number): Promise<void> {
    if (bytes > this.limits.totalBytes) throw this.full();
    if (this.waiting.length > 0 || this.used + bytes > this.limits.totalBytes) await this.turn(bytes);
    else this.used += bytes;
    this.sinceCollect += bytes;
    if (this.sinceCollect < this.limits.collectBytes) return;
    this.sinceCollect = 0;
    this.collect();
  }

  /** For claims. */
  give(bytes: number): void {
    this.used -= bytes;
    this.grantNext();
  }

  private turn(bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter = {
        bytes,
        grant: () => {
          cancel();
          resolve();
        },
      };
      const cancel = after(this.limits.waitMs, () => {
        this.waiting = this.waiting.filter((other) => other !== waiter);
        reject(this.full());
        // The claims behind this one may be smaller.
        this.grantNext();
      });
      this.waiting.push(waiter);
    });
  }

  private grantNext(): void {
    for (let next = this.waiting[0]; next && this.used + next.bytes <= this.limits.totalBytes; next = this.waiting[0]) {
      this.used += next.bytes;
      this.waiting.shift();
      next.grant();
    }
  }

  private full(): AppError {
    return new AppError(
      "resource_exhausted",
      "the large requests under way take all memory that the agent has for them; try again when some have ended",
      {
        reason: "bodies_full",
      },
    );
  }
}

/** The part of the budget that one request holds. */
export class BodyClaim {
  private readonly budget: BodyBudget;
  private readonly freeBytes: number;
  private counted = 0;
  private isReleased = false;

  constructor(budget: BodyBudget, freeBytes: number) {
    this.budget = budget;
    this.freeBytes = freeBytes;
  }

  /** Sets the claim to `bytes` in all; fewer than before releases the rest. Throws `resource_exhausted` when there is no room in time. */
  async hold(bytes: number): Promise<void> {
    const change = Math.max(0, bytes - this.freeBytes) - this.counted;
    if (change > 0) await this.budget.take(change);
    else if (change < 0) this.budget.give(-change);
    this.counted += change;
    // The request may have ended while this claim waited.
    if (this.isReleased) this.release();
  }

  /** Releases the whole claim. Repeatable. */
  release(): void {
    this.isReleased = true;
    const { counted } = this;
    this.counted = 0;
    if (counted > 0) this.budget.give(counted);
  }
}
