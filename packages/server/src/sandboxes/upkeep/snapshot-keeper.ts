import { type Clock, SerialQueue } from "@boxyard/core";
import type { Events } from "../../events.ts";
import type { Store, TemplateSpec } from "../../store/index.ts";
import type { Placement } from "../placement.ts";

export interface SnapshotKeeperParts {
  readonly snapshots: Placement["snapshots"];
  readonly store: Store;
  readonly events: Events;
  readonly clock: Clock;
  /** Milliseconds for which a snapshot is kept that neither the store nor this server knows. */
  readonly keepMs: number;
}

/** A snapshot that work in progress uses: it is not removed until this is disposed of. */
export interface HeldSnapshot extends Disposable {
  readonly id: string;
}

/** Prefix of the names of snapshots that are never noted in a store. */
const PASSING = "fork-";

/**
 * Removes the driver's snapshots that are not needed. Needed are those of template versions with a tag, and those that work in progress holds. So a
 * snapshot stays if and only if the store has it, whatever answer the caller got. A snapshot that this server has never known is removed after
 * `keepMs`: the store may be an older one, from a backup.
 */
export class SnapshotKeeper {
  private readonly parts: SnapshotKeeperParts;
  private readonly held = new Set<string>();
  /** Snapshots that this server has made, deleted, or found needed: they are removed at once when they are not needed. */
  private readonly known = new Set<string>();
  /** Monotonic time at which an unknown snapshot was first seen. */
  private readonly strangers = new Map<string, number>();
  private readonly queue = new SerialQueue();

  constructor(parts: SnapshotKeeperParts) {
    this.parts = parts;
  }

  /** Makes a name for a new snapshot and holds that. `isPassing`: the snapshot is not needed after it is released. */
  hold({ isPassing = false } = {}): HeldSnapshot {
    const id = `${isPassing ? PASSING : ""}${crypto.randomUUID()}`;
    this.known.add(id);
    this.held.add(id);
    return { id, [Symbol.dispose]: () => void this.held.delete(id) };
  }

  /** Removes snapshots that are not needed. `deleted`: names of snapshots that were just deleted. The next round tries failed removals again. */
  collect(deleted: readonly string[] = []): Promise<void> {
    for (const id of deleted) this.known.add(id);
    return this.queue.run(async () => {
      const { snapshots, store, events } = this.parts;
      // The driver is asked before the store: so a snapshot that is captured and noted in between is not taken for one that is not needed.
      const there = (await snapshots.list()).map(({ id }) => id);
      if (there.length === 0) return;
      const needed = new Set((await store.templates.listSpecs()).flatMap(snapshotsOf));
      for (const id of needed) this.known.add(id);
      for (const id of there) {
        if (needed.has(id) || this.held.has(id) || this.isStranger(id)) continue;
        await snapshots.remove(id).then(
          () => this.removed(id),
          (error: unknown) => events.snapshotNotRemoved(id, error),
        );
      }
    });
  }

  private isStranger(id: string): boolean {
    if (this.known.has(id) || id.startsWith(PASSING)) return false;
    const { clock, events, keepMs } = this.parts;
    const now = clock.monotonic();
    const since = this.strangers.get(id) ?? now;
    if (!this.strangers.has(id) && keepMs > 0) events.snapshotKept(id, keepMs);
    this.strangers.set(id, since);
    return now - since < keepMs;
  }

  private removed(id: string): void {
    this.parts.events.snapshotRemoved(id);
    this.known.delete(id);
    this.strangers.delete(id);
  }
}

/** The driver's names of the snapshots that a version needs besides its layers. */
export const snapshotsOf = ({ snapshot, started }: TemplateSpec): string[] => [
  ...(snapshot ? [snapshot.id] : []),
  ...(started === undefined ? [] : [started]),
];
