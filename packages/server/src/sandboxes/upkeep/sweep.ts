import { AppError, atOnce, Rounds, within } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { KEEP_KEYS_MS } from "../../idempotency.ts";
import type { Operations } from "../engine/operations.ts";
import type { EngineParts } from "../engine/parts.ts";
import type { PlacedHandle } from "../placement.ts";
import type { Held } from "./quarantine.ts";
import { adoptLate, type RestartParts, sortOrphans } from "./restart.ts";
import type { SnapshotKeeper } from "./snapshot-keeper.ts";

/** How long the record of a dead sandbox is kept; longer than an idempotency key, whose answer is made from it. */
const KEEP_DEAD_MS = 2 * KEEP_KEYS_MS;

export type SweepParts = RestartParts &
  Pick<EngineParts, "clock"> & { readonly snapshotKeeper: SnapshotKeeper; readonly operations: Operations };

/** Milliseconds between two probes of the store. A store in trouble is probed in every round. */
const PROBE_MS = 60_000;

/** How long events are kept, and how many at most: about 100 MB. A reader that stops for longer misses some; its log says how many. */
const KEEP_EVENTS_MS = 7 * 24 * 3600_000;
const KEEP_EVENTS = 200_000;

/** How many failed removals are tried again at once; each takes up to a minute. */
const AT_ONCE = 16;
/** How long the driver may take to list its sandboxes. */
const LIST_MS = 60_000;

/**
 * Repairs what failed earlier, so that nothing depends on a single try: tries failed removals again, puts orphans into quarantine, removes
 * sandboxes that the driver has lost and snapshots that nothing refers to, and forgets records, keys and events that are too old.
 */
export class Sweep {
  private readonly parts: SweepParts;
  private readonly logger: Logger;
  private readonly rounds: Rounds;
  private nextProbe = 0;
  private suspects = new Set<string>();
  private missing = new Set<string>();

  constructor(parts: SweepParts, logger: Logger, everyMs = 10_000) {
    this.parts = parts;
    this.logger = logger;
    // A round never fails: each of its parts logs its own error.
    this.rounds = new Rounds(() => this.once(), { clock: parts.clock, everyMs, onError: () => {} });
  }

  start(): void {
    this.rounds.start();
  }

  stop(): Promise<void> {
    return this.rounds.stop();
  }

  /** One round. A part that fails is logged, and keeps no other part from its work. What needs only the store comes first: it waits for no driver. */
  async once(): Promise<void> {
    const { store, clock, snapshotKeeper, operations } = this.parts;
    await this.probe();
    await this.attempt("keys", () => store.pruneKeys(clock.now() - KEEP_KEYS_MS));
    await this.attempt("operations", () => store.operations.prune(clock.now() - KEEP_KEYS_MS));
    await this.attempt("records", () => store.pruneSandboxes(clock.now() - KEEP_DEAD_MS));
    await this.attempt("events", () => store.events.prune(clock.now() - KEEP_EVENTS_MS, KEEP_EVENTS));
    await this.attempt("comparison", () => this.compareWithDriver());
    await this.attempt("unfinished operations", () => operations.recover());
    await this.attempt("snapshots", () => snapshotKeeper.collect());
    await this.removeAgain();
  }

  private async attempt(part: string, work: () => Promise<unknown>): Promise<void> {
    if (this.rounds.signal.aborted) return;
    await work().catch((error: unknown) => this.logger.error({ err: error, part }, "a part of the sweep failed; it will be tried again"));
  }

  /** Tries failed removals again. The log has the error of each from the transition. */
  private async removeAgain(): Promise<void> {
    const { engine } = this.parts;
    const failed = [...engine.sandboxes.all()].filter(({ state }) => state === "killing");
    await atOnce(failed, AT_ONCE, async (sandbox) => {
      if (!this.rounds.signal.aborted) await engine.retryRemoval(sandbox).catch(() => {});
    });
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
    const { placement, clock } = this.parts;
    const handles = await within(placement.list(), LIST_MS, listTooLong, clock);
    const damaged = await this.findMissing(handles);
    const orphans = await this.findOrphans(handles);
    await this.parts.quarantine.hold([
      ...damaged.map((handle): Held => ({ handle, cause: "damaged" })),
      ...orphans.map((handle): Held => ({ handle, cause: "unknown" })),
    ]);
  }

  private async findOrphans(handles: readonly PlacedHandle[]): Promise<readonly PlacedHandle[]> {
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
  private async findMissing(handles: readonly PlacedHandle[]): Promise<PlacedHandle[]> {
    const { engine } = this.parts;
    const byId = new Map(handles.map((handle) => [handle.sandboxId as string, handle]));
    const missing = new Set<string>();
    const damaged: PlacedHandle[] = [];
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

const listTooLong = () => new AppError("deadline_exceeded", "Listing the driver's sandboxes takes too long");
