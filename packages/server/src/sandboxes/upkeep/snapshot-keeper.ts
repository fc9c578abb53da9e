import { type Clock, SerialQueue } from "@boxyard/core";
import type { EventLog } from "../../event-log.ts";
import type { CheckpointRecord, Store } from "../../store/index.ts";
import type { Placement } from "../placement.ts";

export interface SnapshotKeeperParts {
  readonly snapshots: Pick<Placement["snapshots"], "list" | "remove">;
  readonly store: Pick<Store, "checkpoints">;
  readonly events: EventLog;
  readonly clock: Clock;
  /** Milliseconds for which a snapshot is kept that the store does not know. */
  readonly keepMs: number;
}

/** A checkpoint that work in progress makes or uses: it is not removed until this is disposed of. */
export interface HeldCheckpoint extends Disposable {
  /** Also the driver's name of it. */
  readonly id: string;
}

/** How many removed checkpoints are remembered. */
const REMEMBERED = 10_000;
/** How often the snapshots of the driver are compared with those of the store; the first time with the first round. */
const COMPARE_EVERY_MS = 10 * 60_000;

/**
 * Removes checkpoints that nothing needs: that have no reference in the store, and that no work in progress holds. The store has a checkpoint from before
 * its capture until after its removal by the driver, so each that this server or an earlier one has made is found by a query of those without a
 * reference, which takes the same time however many others there are. A snapshot of the driver that the store does not know is a stranger, and is removed
 * after `keepMs`: the store may be an older one, from a backup.
 */
export class SnapshotKeeper {
  private readonly parts: SnapshotKeeperParts;
  private readonly held = new Set<string>();
  /** Monotonic time at which an unknown snapshot was first seen. */
  private readonly orphans = new Map<string, number>();
  /** Checkpoints that this server has removed. A capture that was given up may end after that: its snapshot is no stranger. */
  private readonly removed = new Set<string>();
  private readonly queue = new SerialQueue();
  private nextComparison = 0;

  constructor(parts: SnapshotKeeperParts) {
    this.parts = parts;
  }

  /** Makes the id of a new checkpoint and holds that. */
  hold(): HeldCheckpoint {
    const id: string = crypto.randomUUID();
    this.held.add(id);
    return { id, [Symbol.dispose]: () => void this.held.delete(id) };
  }

  /** Removes what is not needed. The next round tries failed removals again. */
  collect(): Promise<void> {
    return this.queue.run(async () => {
      for (const checkpoint of await this.parts.store.checkpoints.listUnused()) {
        if (!this.held.has(checkpoint.id)) await this.remove(checkpoint);
      }
      await this.compare();
      await this.removeOrphans();
    });
  }

  private async remove({ id, reference }: CheckpointRecord): Promise<void> {
    const { store } = this.parts;
    // From here on nothing can begin to need it. The row goes last, so a removal that fails or is killed is tried again.
    if (!(await store.checkpoints.markRemoving(id))) return;
    if (!(await this.removeFromDriver(reference))) return;
    await store.checkpoints.remove(id);
    this.removed.add(reference);
    for (const oldest of this.removed) {
      if (this.removed.size <= REMEMBERED) break;
      this.removed.delete(oldest);
    }
  }

  private async removeFromDriver(reference: string): Promise<boolean> {
    const { snapshots, events } = this.parts;
    try {
      await snapshots.remove(reference);
      events.snapshotRemoved(reference);
      return true;
    } catch (error) {
      events.snapshotNotRemoved(reference, error);
      return false;
    }
  }

  /** Looks for snapshots of the driver that the store does not know. */
  private async compare(): Promise<void> {
    const { snapshots, store, clock, events, keepMs } = this.parts;
    const now = clock.monotonic();
    if (this.nextComparison > now) return;
    const there = (await snapshots.list()).map(({ id }) => id);
    const known = await store.checkpoints.takeOver(there);
    const unknown = new Set(there.filter((id) => !known.has(id)));
    for (const id of this.orphans.keys()) if (!unknown.has(id)) this.orphans.delete(id);
    for (const id of unknown) {
      if (this.orphans.has(id)) continue;
      const isOurs = this.removed.has(id);
      this.orphans.set(id, isOurs ? now - keepMs : now);
      if (keepMs > 0 && !isOurs) events.snapshotKept(id, keepMs);
    }
    this.nextComparison = now + COMPARE_EVERY_MS;
  }

  private async removeOrphans(): Promise<void> {
    const { clock, keepMs } = this.parts;
    for (const [id, since] of this.orphans) {
      if (clock.monotonic() - since >= keepMs && (await this.removeFromDriver(id))) this.orphans.delete(id);
    }
  }
}
