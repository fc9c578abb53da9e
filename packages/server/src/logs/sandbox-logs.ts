import type { Clock, SandboxId } from "@boxyard/core";
import { later } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { EventReader } from "../event-reader.ts";
import type { BuildLogLevel, SandboxLogLine, SandboxLogQuery, Store, StoreEvent } from "../store/index.ts";
import { isLogged, lineOf } from "./event-lines.ts";

/** How many lines are kept of one sandbox, of the server's word and of the guest's each. */
export const KEEP = 1000;
/** Within one millisecond, lines of events are ordered by the event's cursor; other lines follow them, numbered from here. */
const BEHIND_EVENTS = 2 ** 40;
/** Events that begin a change. */
const BEGINNINGS: ReadonlySet<string> = new Set(["sandbox.creating", "sandbox.pausing", "sandbox.resuming"]);
/** How many changes in progress are remembered, to log how long they took. */
const MAX_BEGUN = 10_000;
/** How many lines may wait for the store; further lines are lost, which the server's log says. */
const MAX_PENDING = 10_000;
const BATCH = 500;
const FLUSH_MS = 100;

/**
 * The logs of sandboxes, for their owners. Lines of state changes come from the store's events, so a crash loses none of them. Other lines are
 * gathered and written in the background: a crash loses those of the last 0.1 s, which the server's log has.
 */
export class SandboxLogs {
  private readonly store: Store;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly reader: EventReader;
  private readonly begun = new Map<string, number>();
  private pending: SandboxLogLine[] = [];
  private place = BEHIND_EVENTS;
  private writing: Promise<void> = Promise.resolve();
  private cancelFlush: (() => void) | undefined;

  constructor(store: Store, clock: Clock, logger: Logger) {
    this.store = store;
    this.clock = clock;
    this.logger = logger;
    const deliver = (events: readonly StoreEvent[]) => this.addLinesOf(events);
    this.reader = new EventReader({ name: "sandbox-logs", events: store.events, logger, clock, deliver });
  }

  start(): void {
    this.reader.start();
  }

  /** Adds a line that belongs to no event of the store. */
  add(sandboxId: string, level: BuildLogLevel, message: string, fields: Readonly<Record<string, string>> = {}): void {
    if (this.pending.length >= MAX_PENDING) {
      this.logger.warn({ sandboxId }, "a sandbox's log line is lost: the store is too slow");
      return;
    }
    this.pending.push({ sandboxId: sandboxId as SandboxId, at: this.clock.now(), place: this.place++, level, message, fields });
    this.cancelFlush ??= later(FLUSH_MS, () => void this.flush(), this.clock);
  }

  /** Lines of a sandbox, with those of all events that were committed before. */
  async read(id: SandboxId, query: SandboxLogQuery): Promise<SandboxLogLine[]> {
    await Promise.all([this.reader.catchUp(), this.flush()]);
    return this.store.sandboxLogs.read(id, query);
  }

  async close(): Promise<void> {
    await Promise.all([this.reader.stop(), this.flush()]);
  }

  private async addLinesOf(events: readonly StoreEvent[]): Promise<void> {
    const lines: SandboxLogLine[] = [];
    for (const event of events.filter(({ action }) => action.startsWith("sandbox."))) {
      const ms = this.timeOf(event);
      const record = isLogged(event) ? await this.store.getSandbox(event.targetId as SandboxId) : undefined;
      if (record?.owner.kind !== "user") continue;
      lines.push({ ...lineOf(event, record, ms), sandboxId: record.id, at: event.at, place: event.cursor });
    }
    await this.store.sandboxLogs.add(lines, KEEP);
  }

  /** How long the change took that this event ends, in milliseconds; undefined if it ends none, or its beginning is not known. */
  private timeOf({ action, targetId, at }: StoreEvent): number | undefined {
    const since = this.begun.get(targetId);
    this.begun.delete(targetId);
    if (BEGINNINGS.has(action)) {
      if (this.begun.size >= MAX_BEGUN) this.begun.clear();
      this.begun.set(targetId, at);
    }
    return since === undefined ? undefined : Math.max(0, at - since);
  }

  /** Resolves when the lines that were added before are in the store, or could not be written. */
  private flush(): Promise<void> {
    this.cancelFlush?.();
    this.cancelFlush = undefined;
    this.writing = this.writing.then(async () => {
      while (this.pending.length > 0) {
        const batch = this.pending.splice(0, BATCH);
        await this.store.sandboxLogs.add(batch, KEEP).catch((error: unknown) => {
          this.logger.error({ err: error, lines: batch.length }, "the store did not take sandboxes' log lines");
        });
      }
    });
    return this.writing;
  }
}
