import type { Logger } from "@boxyard/core/node";
import type { EventStore, StoreEvent } from "./store/index.ts";

const BATCH = 500;
/** What happens within this time after an event is read together with it. */
const GATHER_MS = 100;
const RETRY_MS = 5000;

export interface EventReaderOptions {
  /** Its place among the events is kept in the store under this name. */
  readonly name: string;
  readonly events: EventStore;
  readonly logger: Logger;
  /** Deals with events, oldest first. After a failure or a crash it gets the same ones again, so a repetition must change nothing. */
  readonly deliver: (events: readonly StoreEvent[]) => Promise<void>;
}

/** Reads the store's events, every one once or more, in order, also across restarts of the server. */
export class EventReader {
  private readonly options: EventReaderOptions;
  private cursor: number | undefined;
  private reading: Promise<void> = Promise.resolve();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private unsubscribe: (() => void) | undefined;

  constructor(options: EventReaderOptions) {
    this.options = options;
  }

  start(): void {
    this.unsubscribe ??= this.options.events.subscribe(() => this.wakeIn(GATHER_MS));
    this.wakeIn(0);
  }

  /** Deals with what is there, as far as that works, and stops. */
  async stop(): Promise<void> {
    this.unsubscribe?.();
    await this.catchUp();
    clearTimeout(this.timer);
  }

  /** Every event that was committed before is dealt with when this resolves, or will be tried again. */
  catchUp(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.reading = this.reading.then(() =>
      this.read().catch((error: unknown) => {
        this.options.logger.error({ err: error, reader: this.options.name }, "reading events failed; it will be tried again");
        if (this.unsubscribe) this.wakeIn(RETRY_MS);
      }),
    );
    return this.reading;
  }

  private wakeIn(ms: number): void {
    this.timer ??= setTimeout(() => void this.catchUp(), ms);
  }

  private async read(): Promise<void> {
    const { name, events, deliver } = this.options;
    this.cursor ??= (await events.cursorOf(name)) ?? 0;
    for (;;) {
      const batch = await events.read(this.cursor, BATCH);
      const [first, last] = [batch[0], batch.at(-1)];
      if (!first || !last) return;
      this.noteGap(first.cursor);
      await deliver(batch);
      await events.saveCursor(name, last.cursor);
      this.cursor = last.cursor;
    }
  }

  /** Retention has forgotten events that this reader had not read: it was away too long. */
  private noteGap(first: number): void {
    const missed = first - (this.cursor ?? 0) - 1;
    if (missed > 0) this.options.logger.warn({ reader: this.options.name, missed }, "events were forgotten before they were read");
  }
}
