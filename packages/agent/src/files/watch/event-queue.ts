import { AppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import type { TreeEvent } from "./tree.ts";

/** Events of all queues of an agent, so that many slow clients together stay within a bound. */
export interface QueueBudget {
  queued: number;
}

/** Events between the kernel and one client: in order, equal neighbours once, bounded. */
export class EventQueue {
  private readonly budget: QueueBudget;
  private events: TreeEvent[] = [];
  private lost = false;
  private wake: (() => void) | undefined;

  constructor(budget: QueueBudget) {
    this.budget = budget;
  }

  push(event: TreeEvent): void {
    const last = this.events.at(-1);
    if (last && last.name === event.name && last.type === event.type) return;
    if (this.events.length >= LIMITS.queuedEvents || this.budget.queued >= LIMITS.queuedEventsTotal) {
      this.lost = true;
    } else {
      this.events.push(event);
      this.budget.queued++;
    }
    this.wake?.();
  }

  /** Events are missing from here on; the next reader that finds the queue empty is told. */
  lose(): void {
    this.lost = true;
    this.wake?.();
  }

  /** Everything that waits. Throws `data_loss`, once, when events were lost and those before are taken. */
  take(): readonly TreeEvent[] {
    const taken = this.events;
    this.events = [];
    this.budget.queued -= taken.length;
    if (taken.length === 0 && this.lost) {
      this.lost = false;
      throw new AppError("data_loss", "more changes than could be kept; list the directory to see its state", { reason: "events_lost" });
    }
    return taken;
  }

  /** Resolves when there is something to take; rejects when the signal aborts. */
  async ready(signal: AbortSignal): Promise<void> {
    if (this.events.length > 0 || this.lost) return;
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    this.wake = resolve;
    try {
      await promise;
    } finally {
      this.wake = undefined;
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Gives its share of the budget back. */
  drop(): void {
    this.budget.queued -= this.events.length;
    this.events = [];
  }
}
