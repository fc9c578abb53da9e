import { type Clock, SerialQueue } from "@boxyard/core";
import type { SandboxDriver } from "@boxyard/driver";
import type { Events } from "../../events.ts";
import type { Store, TemplateSpec } from "../../store/index.ts";

export interface SnapshotKeeperParts {
  readonly driver: Pick<SandboxDriver, "snapshots">;
  readonly store: Store;
  readonly events: Events;
  readonly clock: Clock;
  /** How long a snapshot is kept that the store does not know, though it was none of this server's work. */
  readonly keepMs: number;
}

/** A snapshot in the hands of work in progress: not removed until this is disposed of. */
export interface HeldSnapshot extends Disposable {
  readonly id: string;
}

/** Begins the names of snapshots that no store ever knows. */
const PASSING = "fork-";

/**
 * Which of the driver's snapshots are needed, and the end of the others. Needed is what a version of a template names that some tag points to, and
 * what work in progress holds. So what was captured and not noted goes, and what was noted stays, whatever the caller was told. One that this
 * server has never heard of goes later: perhaps the store is wrong, because it was put back from a backup.
 */
export class SnapshotKeeper {
  private readonly parts: SnapshotKeeperParts;
  private readonly held = new Set<string>();
  /** What this server has made, deleted, or found needed at some time: not needed any more, it goes at once. */
  private readonly known = new Set<string>();
  /** Monotonic time at which an unknown one was first seen. */
  private readonly strangers = new Map<string, number>();
  private readonly queue = new SerialQueue();

  constructor(parts: SnapshotKeeperParts) {
    this.parts = parts;
  }

  /** A name for a new snapshot, held before it is captured. `isPassing`: it is needed no longer than it is held. */
  hold({ isPassing = false } = {}): HeldSnapshot {
    const id = `${isPassing ? PASSING : ""}${crypto.randomUUID()}`;
    this.known.add(id);
    this.held.add(id);
    return { id, [Symbol.dispose]: () => void this.held.delete(id) };
  }

  /** Removes what nobody needs; `deleted` are said to be that. What cannot be removed now is tried again with the next round. */
  collect(deleted: readonly string[] = []): Promise<void> {
    for (const id of deleted) this.known.add(id);
    return this.queue.run(async () => {
      const { driver, store, events } = this.parts;
      // Listed before it is asked what is needed: what is captured after this is no candidate, and what is no longer needed by then is noted.
      const there = (await driver.snapshots.list()).map(({ id }) => id);
      if (there.length === 0) return;
      const needed = new Set((await store.templates.listSpecs()).flatMap(snapshotsOf));
      for (const id of needed) this.known.add(id);
      for (const id of there) {
        if (needed.has(id) || this.held.has(id) || this.isStranger(id)) continue;
        await driver.snapshots.remove(id).then(
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

/** The driver's names of what a version stands on beside its layers. */
export const snapshotsOf = ({ snapshot, started }: TemplateSpec): string[] => [
  ...(snapshot ? [snapshot.id] : []),
  ...(started === undefined ? [] : [started]),
];
