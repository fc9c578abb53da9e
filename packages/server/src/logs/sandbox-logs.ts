import type { Clock, SandboxId } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { BuildLogLevel, SandboxLogLine, SandboxLogQuery, SandboxLogStore } from "../store/index.ts";

/** Lines kept of one sandbox. */
const KEEP = 1000;
/** Lines on their way to the store; what comes beyond is lost, and told. */
const MAX_PENDING = 10_000;
const BATCH = 500;
const FLUSH_MS = 100;

/**
 * What happens to sandboxes, kept for their owners. Writing is put together and off the way of creates and kills: an event that a crash takes along
 * in its first tenth of a second is in the server's log still.
 */
export class SandboxLogs {
  private readonly store: SandboxLogStore;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private pending: SandboxLogLine[] = [];
  private place = 0;
  private writing: Promise<void> = Promise.resolve();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(store: SandboxLogStore, clock: Clock, logger: Logger) {
    this.store = store;
    this.clock = clock;
    this.logger = logger;
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
    await this.flush();
    return this.store.read(id, query);
  }

  async close(): Promise<void> {
    await this.flush();
  }

  /** Everything that was added before is in the store, or given up, when this resolves. */
  private flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.writing = this.writing.then(async () => {
      while (this.pending.length > 0) {
        const batch = this.pending.splice(0, BATCH);
        await this.store.add(batch, KEEP).catch((error: unknown) => {
          this.logger.error({ err: error, lines: batch.length }, "the store did not take sandboxes' log lines");
        });
      }
    });
    return this.writing;
  }
}
