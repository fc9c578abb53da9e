import type { AppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import type { TreeEvent } from "./tree.ts";

/** Bytes of the events in all queues of an agent, so that many slow clients together stay within a bound. */
export interface QueueBudget {
  bytes: number;
}

/** Bytes of a waiting event without its name: the object, and its places in the array and in the map of names. */
const EVENT_BYTES = 128;
const sizeOf = ({ name }: TreeEvent) => EVENT_BYTES + 2 * name.length;

/** Reports that events are missing, as a write to the watched directory itself. The kernel never reports a write to a directory. */
export const LOST: TreeEvent = { name: ".", type: "EVENT_TYPE_WRITE" };

/** Taken events stay in the array until they are so many, so that `take` does not move the rest each time. */
const COMPACT_AT = 1024;

/** Events between the kernel and one client, in order and bounded. An event equal to the last waiting one of its name is dropped. */
export class EventQueue {
  private readonly budget: QueueBudget;
  private events: TreeEvent[] = [];
  /** How many of `events` were taken. */
  private taken = 0;
  private bytes = 0;
  /** The last waiting event of each name. */
  private readonly last = new Map<string, TreeEvent>();
  private hasLost = false;
  private failure: AppError | undefined;
  private wake: (() => void) | undefined;

  constructor(budget: QueueBudget) {
    this.budget = budget;
  }

  /** Number of waiting events. */
  get length(): number {
    return this.events.length - this.taken + (this.hasLost ? 1 : 0);
  }

  push(event: TreeEvent): void {
    // After a loss the client must list the directory anyway, so events are dropped until it has received LOST.
    if (this.hasLost || this.last.get(event.name)?.type === event.type) return;
    const size = sizeOf(event);
    if (this.bytes + size > LIMITS.queuedEventBytes || this.budget.bytes + size > LIMITS.queuedEventBytesTotal) {
      this.hasLost = true;
    } else {
      this.events.push(event);
      this.last.set(event.name, event);
      this.count(size);
    }
    this.wake?.();
  }

  /** Queues LOST: events are missing from here on. */
  lose(): void {
    this.push(LOST);
  }

  /** Ends the queue: `take` throws the error once the waiting events are taken. */
  fail(error: AppError): void {
    this.failure ??= error;
    this.wake?.();
  }

  /** The next event; undefined when none waits. Throws the failure once no event waits. */
  take(): TreeEvent | undefined {
    const event = this.events[this.taken];
    if (!event) return this.takeLast();
    this.taken++;
    this.count(-sizeOf(event));
    if (this.last.get(event.name) === event) this.last.delete(event.name);
    if (this.taken === this.events.length || (this.taken >= COMPACT_AT && this.taken * 2 >= this.events.length)) {
      this.events.splice(0, this.taken);
      this.taken = 0;
    }
    return event;
  }

  /** Resolves when `take` has an event or a failure; rejects with the signal's reason. */
  async ready(signal: AbortSignal): Promise<void> {
    if (this.length > 0 || this.failure) return;
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

  /** Drops all events, and releases their part of the budget. */
  drop(): void {
    this.count(-this.bytes);
    this.events = [];
    this.taken = 0;
    this.last.clear();
  }

  private takeLast(): TreeEvent | undefined {
    if (this.hasLost) {
      this.hasLost = false;
      return LOST;
    }
    if (this.failure) throw this.failure;
    return undefined;
  }

  private count(bytes: number): void {
    this.bytes += bytes;
    this.budget.bytes += bytes;
  }
}
