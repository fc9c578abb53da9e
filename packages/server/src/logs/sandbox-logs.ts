import type { Clock, SandboxId } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { EventReader } from "../event-reader.ts";
import type { BuildLogLevel, SandboxLogLine, SandboxLogQuery, Store, StoreEvent } from "../store/index.ts";
import { isTold, lineOf } from "./event-lines.ts";

/** Lines kept of one sandbox. */
const KEEP = 1000;
/** Orders lines that no event stands behind after those of events, within one millisecond; events have their cursor for it. */
const BEHIND_EVENTS = 2 ** 40;
/** States in which a change begins. */
const BEGINNINGS: ReadonlySet<string> = new Set(["sandbox.creating", "sandbox.pausing", "sandbox.resuming"]);
/** Changes whose beginning is remembered, to tell how long they took. */
const MAX_BEGUN = 10_000;
/** Lines on their way to the store; what comes beyond is lost, and told. */
const MAX_PENDING = 10_000;
const BATCH = 500;
const FLUSH_MS = 100;

/**
 * What happens to sandboxes, kept for their owners. A change of the state comes from the store's events, so that a crash takes no line of it
 * along. The rest is gathered and written off the way of requests: a crash takes along its last tenth of a second, which is in the server's log.
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
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(store: Store, clock: Clock, logger: Logger) {
    this.store = store;
    this.clock = clock;
    this.logger = logger;
    this.reader = new EventReader({ name: "sandbox-logs", events: store.events, logger, deliver: (events) => this.tell(events) });
  }

  start(): void {
    this.reader.start();
  }

  add(sandboxId: string, level: BuildLogLevel, message: string, fields: Readonly<Record<string, string>> = {}): void {
    if (this.pending.length >= MAX_PENDING) {
      this.logger.warn({ sandboxId }, "a sandbox's log line is lost: the store is too slow");
      return;
    }
    this.pending.push({ sandboxId: sandboxId as SandboxId, at: this.clock.now(), place: this.place++, level, message, fields });
    this.timer ??= setTimeout(() => void this.flush(), FLUSH_MS);
  }

  async read(id: SandboxId, query: SandboxLogQuery): Promise<SandboxLogLine[]> {
    await Promise.all([this.reader.catchUp(), this.flush()]);
    return this.store.sandboxLogs.read(id, query);
  }

  async close(): Promise<void> {
    await Promise.all([this.reader.stop(), this.flush()]);
  }

  private async tell(events: readonly StoreEvent[]): Promise<void> {
    const lines: SandboxLogLine[] = [];
    for (const event of events.filter(({ action }) => action.startsWith("sandbox."))) {
      const ms = this.timeOf(event);
      const record = isTold(event) ? await this.store.getSandbox(event.targetId as SandboxId) : undefined;
      if (record?.owner.kind !== "user") continue;
      lines.push({ ...lineOf(event, record, ms), sandboxId: record.id, at: event.at, place: event.cursor });
    }
    await this.store.sandboxLogs.add(lines, KEEP);
  }

  /** Milliseconds since the change began that this event is the end of; undefined if it ends none. */
  private timeOf({ action, targetId, at }: StoreEvent): number | undefined {
    const since = this.begun.get(targetId);
    this.begun.delete(targetId);
    if (BEGINNINGS.has(action)) {
      if (this.begun.size >= MAX_BEGUN) this.begun.clear();
      this.begun.set(targetId, at);
    }
    return since === undefined ? undefined : Math.max(0, at - since);
  }

  /** Everything that was added before is in the store, or given up, when this resolves. */
  private flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
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
