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

/** A store in trouble is tried in every round. */
const PROBE_MS = 60_000;

/** Events of the store are kept so long, and so many: about 100 MB at most. A reader that is away longer misses some, and is told. */
const KEEP_EVENTS_MS = 7 * 24 * 3600_000;
const KEEP_EVENTS = 200_000;

/**
 * Puts right what went wrong earlier, so that nothing depends on a single try: removals that failed, sandboxes that the driver has and
 * nobody knows (they come into quarantine), sandboxes that the driver has lost, snapshots that nothing refers to, records and keys that are too
 * old.
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

  /** Finds a store that takes no changes before a client does, and one that takes them again. */
  private async probe(): Promise<void> {
    const { store, clock } = this.parts;
    if (!store.health.trouble && !store.health.file?.trouble() && clock.monotonic() < this.nextProbe) return;
    this.nextProbe = clock.monotonic() + PROBE_MS;
    // What is wrong stands in the store's health.
    await store.probe().catch(() => {});
  }

  /** Acts only on what was so in the round before too: what is being made or removed just now looks wrong for a moment. */
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

  /** Returns those that the driver has and of which it cannot read what it has kept. */
  private async findMissing(handles: readonly SandboxHandle[]): Promise<SandboxHandle[]> {
    const { engine } = this.parts;
    const byId = new Map(handles.map((handle) => [handle.sandboxId as string, handle]));
    const missing = new Set<string>();
    const damaged: SandboxHandle[] = [];
    for (const sandbox of engine.sandboxes.all()) {
      const { id, state } = sandbox;
      const handle = byId.get(id);
      if (handle || state !== "running") {
        if (sandbox.isAdoptionPending && (await adoptLate(this.parts, sandbox, handle)) && handle) damaged.push(handle);
        continue;
      }
      if (this.missing.has(id)) await engine.end(sandbox, "lost").catch(() => {});
      else missing.add(id);
    }
    this.missing = missing;
    return damaged;
  }
}
