import type { Clock } from "@boxyard/core";
import { later } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { EventStore, StoreEvent } from "./store/index.ts";

const BATCH = 500;
/** Events within this time after an event are read together with it. */
const GATHER_MS = 100;
const RETRY_MS = 5000;
/** Failures after which the events of a batch are processed one by one, and then failures of one event after which it is skipped. */
const TRIES = 5;
/** Failures within this time after another one are not counted: clients that wait for events cause tries too. */
const UNCOUNTED_MS = 4000;

export interface EventReaderOptions {
  /** The store keeps the reader's cursor under this name. */
  readonly name: string;
  readonly events: EventStore;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Processes events, oldest first. It gets the same events again after a failure or a crash, so it must be idempotent. */
  readonly deliver: (events: readonly StoreEvent[]) => Promise<void>;
}

/**
 * Reads the store's events: each event once or more, in order, also across restarts of the server. An event whose processing fails each time is
 * skipped, so that it does not keep the later ones for ever; none is skipped while the store takes no writes, because the cursor is one.
 */
export class EventReader {
  private readonly options: EventReaderOptions;
  private cursor: number | undefined;
  /** Counted failures since the last success. */
  private failures = 0;
  private failedAt = Number.NEGATIVE_INFINITY;
  /** Events up to this cursor are processed one by one. */
  private singleUntil = 0;
  private reading: Promise<void> = Promise.resolve();
  private cancelWake: (() => void) | undefined;
  private unsubscribe: (() => void) | undefined;

  constructor(options: EventReaderOptions) {
    this.options = options;
  }

  start(): void {
    this.unsubscribe ??= this.options.events.subscribe(() => this.wakeIn(GATHER_MS));
    this.wakeIn(0);
  }

  /** Tries once more to process the events that are there, and stops. */
  async stop(): Promise<void> {
    this.unsubscribe?.();
    await this.catchUp();
    this.cancelWake?.();
  }

  /** Resolves when the events that were committed before are processed, or processing them has failed and will be tried again. */
  catchUp(): Promise<void> {
    this.cancelWake?.();
    this.cancelWake = undefined;
    this.reading = this.reading.then(() =>
      this.read().catch((error: unknown) => {
        this.options.logger.error({ err: error, reader: this.options.name }, "reading events failed; it will be tried again");
        if (this.unsubscribe) this.wakeIn(RETRY_MS);
      }),
    );
    return this.reading;
  }

  private wakeIn(ms: number): void {
    this.cancelWake ??= later(ms, () => void this.catchUp(), this.options.clock);
  }

  private async read(): Promise<void> {
    const { name, events } = this.options;
    this.cursor ??= (await events.cursorOf(name)) ?? 0;
    for (;;) {
      const batch = await events.read(this.cursor, this.cursor < this.singleUntil ? 1 : BATCH);
      const [first, last] = [batch[0], batch.at(-1)];
      if (!first || !last) return;
      this.noteGap(first.cursor);
      const skipped = await this.deliver(batch, last.cursor);
      await events.saveCursor(name, last.cursor);
      this.cursor = last.cursor;
      this.failures = 0;
      if (skipped) this.noteSkipped(first, skipped.cause);
    }
  }

  /** Throws when the batch failed and is to be tried again. Returns why when it is one event that is to be skipped. */
  private async deliver(batch: readonly StoreEvent[], last: number): Promise<{ readonly cause: unknown } | undefined> {
    try {
      await this.options.deliver(batch);
    } catch (cause) {
      const now = this.options.clock.monotonic();
      if (now - this.failedAt >= UNCOUNTED_MS) {
        this.failures++;
        this.failedAt = now;
      }
      if (this.failures < TRIES) throw cause;
      if (batch.length === 1) return { cause };
      this.failures = 0;
      this.singleUntil = last;
      throw cause;
    }
  }

  private noteSkipped({ cursor, action, targetId }: StoreEvent, cause: unknown): void {
    const facts = { err: cause, reader: this.options.name, event: cursor, action, targetId };
    this.options.logger.error(facts, "an event is skipped: processing it failed each time");
  }

  /** Logs how many events were removed by retention before this reader has read them. */
  private noteGap(first: number): void {
    const missed = first - (this.cursor ?? 0) - 1;
    if (missed > 0) this.options.logger.warn({ reader: this.options.name, missed }, "events were removed before they were read");
  }
}
