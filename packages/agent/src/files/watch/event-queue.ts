import type { AppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import type { TreeEvent } from "./tree.ts";

/** Bytes of the events in all queues of an agent, so that many slow clients together stay within a bound. */
export interface QueueBudget {
  bytes: number;
}

/** What a waiting event takes beside its name: the object, its place in the row and in the index of names. */
const EVENT_BYTES = 128;
const sizeOf = ({ name }: TreeEvent) => EVENT_BYTES + 2 * name.length;

/** Tells a client that events are missing: what the directory holds has changed. The kernel itself never says this of a directory. */
export const LOST: TreeEvent = { name: ".", type: "EVENT_TYPE_WRITE" };

/** Taken events stay in the row until so many are there, so that the rest need not be moved for each. */
const COMPACT_AT = 1024;

/** Events between the kernel and one client: in order, bounded. While two equal ones of a name would wait in a row, there is one. */
export class EventQueue {
  private readonly budget: QueueBudget;
  private events: TreeEvent[] = [];
  /** How many of `events` are taken. */
  private taken = 0;
  private bytes = 0;
  /** The last of each name that waits. */
  private readonly last = new Map<string, TreeEvent>();
  private hasLost = false;
  private failure: AppError | undefined;
  private wake: (() => void) | undefined;

  constructor(budget: QueueBudget) {
    this.budget = budget;
  }

  /** How many wait. */
  get length(): number {
    return this.events.length - this.taken + (this.hasLost ? 1 : 0);
  }

  push(event: TreeEvent): void {
    // Until the client knows that some are missing more would not help it: it has to look.
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

  /** Events are missing from here on, which the client is told in its turn. */
  lose(): void {
    this.push(LOST);
  }

  /** No more events come; thrown to the reader once it has taken those that wait. */
  fail(error: AppError): void {
    this.failure ??= error;
    this.wake?.();
  }

  /** The next event; undefined when none waits. Throws the failure when there is one and nothing else. */
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

  /** Resolves when there is something to take; rejects when the signal aborts. */
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

  /** Gives its share of the budget back. */
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
