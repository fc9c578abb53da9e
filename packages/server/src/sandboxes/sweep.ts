import type { Logger } from "@boxyard/core/node";
import { takeBack } from "./adopt.ts";
import { KEEP_KEYS_MS } from "./idempotency.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { LiveSandbox } from "./live.ts";

/** How long the record of a dead sandbox is kept; longer than an idempotency key, whose answer is made from it. */
const KEEP_DEAD_MS = 2 * KEEP_KEYS_MS;

/**
 * Puts right what went wrong earlier, so that nothing depends on a single try: removals that failed, sandboxes that the driver has and
 * nobody knows, sandboxes that the driver has lost, records and keys that are too old.
 */
export class Sweep {
  private readonly lifecycle: Lifecycle;
  private readonly logger: Logger;
  private readonly everyMs: number;
  private readonly stopping = new AbortController();
  private loop: Promise<void> | undefined;
  private suspects = new Set<string>();
  private missing = new Set<string>();

  constructor(lifecycle: Lifecycle, logger: Logger, everyMs = 10_000) {
    this.lifecycle = lifecycle;
    this.logger = logger;
    this.everyMs = everyMs;
  }

  start(): void {
    this.loop ??= this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await this.lifecycle.deps.clock.sleep(this.everyMs, signal).catch(() => {});
      if (signal.aborted) return;
      await this.once().catch((error: unknown) => this.logger.error({ err: error }, "sweep failed"));
    }
  }

  /** One round. */
  async once(): Promise<void> {
    const { store, clock } = this.lifecycle.deps;
    for (const live of [...this.lifecycle.all()]) {
      if (live.state === "killing") await this.lifecycle.retryRemoval(live).catch(() => {});
    }
    await this.compareWithDriver();
    await store.pruneKeys(clock.now() - KEEP_KEYS_MS);
    await store.pruneSandboxes(clock.now() - KEEP_DEAD_MS);
  }

  /** Acts only on what was so in the round before too: what is being made or removed just now looks wrong for a moment. */
  private async compareWithDriver(): Promise<void> {
    const { driver, events, routes } = this.lifecycle.deps;
    const handles = await driver.list();
    const suspects = new Set<string>();
    for (const handle of handles) {
      if (this.lifecycle.find(handle.sandboxId) || this.lifecycle.reserved.has(handle.sandboxId)) continue;
      if (!this.suspects.has(handle.sandboxId)) {
        suspects.add(handle.sandboxId);
        continue;
      }
      await driver.destroy(handle).then(
        () => events.orphanRemoved(handle.sandboxId),
        (error: unknown) => events.removalFailed(handle.sandboxId, error),
      );
    }
    const present = new Set(handles.map((handle) => handle.sandboxId as string));
    const missing = new Set<string>();
    for (const live of [...this.lifecycle.all()]) {
      const { id } = live.record;
      if (live.state !== "running") continue;
      if (present.has(id)) {
        if (!routes.find(id)) await this.takeBackLate(live);
        continue;
      }
      if (this.missing.has(id)) await this.lifecycle.end(live, "lost").catch(() => {});
      else missing.add(id);
    }
    this.suspects = suspects;
    this.missing = missing;
  }

  /** A sandbox that the driver could not speak for when this server started. */
  private async takeBackLate(live: LiveSandbox): Promise<void> {
    // In its turn: what its owner does to it meanwhile (ending it, giving it more time) comes before or after, not in between.
    const outcome = await this.lifecycle.inTurn(live, () => takeBack(this.lifecycle, live.record, live.handle));
    if (outcome !== undefined && outcome !== "adopted" && outcome !== "later") await this.lifecycle.end(live, outcome).catch(() => {});
  }
}
