import { Rounds } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { SandboxHandle } from "@boxyard/driver";
import { KEEP_KEYS_MS } from "../create/idempotency.ts";
import type { EngineParts } from "../engine/parts.ts";
import type { Held } from "./quarantine.ts";
import { adoptLate, type RestartParts, sortOrphans } from "./restart.ts";
import type { SnapshotKeeper } from "./snapshot-keeper.ts";

/** How long the record of a dead sandbox is kept; longer than an idempotency key, whose answer is made from it. */
const KEEP_DEAD_MS = 2 * KEEP_KEYS_MS;

export type SweepParts = RestartParts & Pick<EngineParts, "clock"> & { readonly snapshotKeeper: SnapshotKeeper };

/** Milliseconds between two probes of the store. A store in trouble is probed in every round. */
const PROBE_MS = 60_000;

/** How long events are kept, and how many at most: about 100 MB. A reader that stops for longer misses some; its log says how many. */
const KEEP_EVENTS_MS = 7 * 24 * 3600_000;
const KEEP_EVENTS = 200_000;

/**
 * Repairs what failed earlier, so that nothing depends on a single try: tries failed removals again, puts orphans into quarantine, removes
 * sandboxes that the driver has lost and snapshots that nothing refers to, and forgets records, keys and events that are too old.
 */
export class Sweep {
  private readonly parts: SweepParts;
  private readonly rounds: Rounds;
  private nextProbe = 0;
  private suspects = new Set<string>();
  private missing = new Set<string>();

  constructor(parts: SweepParts, logger: Logger, everyMs = 10_000) {
    this.parts = parts;
    const onError = (error: unknown) => logger.error({ err: error }, "sweep failed");
    this.rounds = new Rounds(() => this.once(), { clock: parts.clock, everyMs, onError });
  }

  start(): void {
    this.rounds.start();
  }

  stop(): Promise<void> {
    return this.rounds.stop();
  }

  /** One round. */
  async once(): Promise<void> {
    const { store, clock, engine } = this.parts;
    await this.probe();
    for (const sandbox of engine.sandboxes.all()) {
      if (sandbox.state === "killing") await engine.retryRemoval(sandbox).catch(() => {});
    }
    await this.compareWithDriver();
    await this.parts.snapshotKeeper.collect();
    await store.pruneKeys(clock.now() - KEEP_KEYS_MS);
    await store.pruneSandboxes(clock.now() - KEEP_DEAD_MS);
    await store.events.prune(clock.now() - KEEP_EVENTS_MS, KEEP_EVENTS);
  }

  /** Probes the store, so that its health is right before a client's request fails. */
  private async probe(): Promise<void> {
    const { store, clock } = this.parts;
    if (!store.health.trouble && !store.health.file?.trouble() && clock.monotonic() < this.nextProbe) return;
    this.nextProbe = clock.monotonic() + PROBE_MS;
    // The store's health has the error.
    await store.probe().catch(() => {});
  }

  /** Acts only on differences that the round before has found too: a sandbox that is being made or removed differs for a moment. */
  private async compareWithDriver(): Promise<void> {
    const { driver } = this.parts;
    const handles = await driver.list();
    const damaged = await this.findMissing(handles);
    const orphans = await this.findOrphans(handles);
    await this.parts.quarantine.hold([
      ...damaged.map((handle): Held => ({ handle, cause: "damaged" })),
      ...orphans.map((handle): Held => ({ handle, cause: "unknown" })),
    ]);
  }

  private async findOrphans(handles: readonly SandboxHandle[]): Promise<readonly SandboxHandle[]> {
    const { engine, quarantine } = this.parts;
    const unknown = handles.filter(({ sandboxId }) => !engine.sandboxes.find(sandboxId));
    const { gone, kept } = await sortOrphans(
      this.parts,
      "refuse",
      unknown.filter(({ sandboxId }) => this.suspects.has(sandboxId) || quarantine.has(sandboxId)),
    );
    this.suspects = new Set(unknown.map(({ sandboxId }) => sandboxId));
    for (const handle of gone) await quarantine.remove(handle);
    return kept;
  }

  /** Ends sandboxes that the driver does not list any more, and adopts pending ones. Returns those whose record the driver cannot read. */
  private async findMissing(handles: readonly SandboxHandle[]): Promise<SandboxHandle[]> {
    const { engine } = this.parts;
    const byId = new Map(handles.map((handle) => [handle.sandboxId as string, handle]));
    const missing = new Set<string>();
    const damaged: SandboxHandle[] = [];
    for (const sandbox of engine.sandboxes.all()) {
      const { id, state } = sandbox;
      const handle = byId.get(id);
      if (handle || state !== "running") {
        if (sandbox.pending && (await adoptLate(this.parts, sandbox, handle)) && handle) damaged.push(handle);
        continue;
      }
      if (this.missing.has(id)) await engine.end(sandbox, "lost").catch(() => {});
      else missing.add(id);
    }
    this.missing = missing;
    return damaged;
  }
}
