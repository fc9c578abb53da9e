import { AppError } from "@boxyard/core";
import type { MakeLayerOptions } from "./images/images.ts";
import type { SandboxHandle } from "./runtime/types.ts";
import type { LayerInfo } from "./storage/layers.ts";

/**
 * Copies of running sandboxes, from which any number of other sandboxes start: snapshots, forks and templates that start from memory.
 *
 * **Words.** A *snapshot* is what a sandbox has changed on its disk and, with `memory`, an image of its processes, of one moment in which
 * nothing ran. It stands on the layers of the sandbox's own image and belongs to no sandbox. Its id is the server's choice, 1 to 64 of
 * `a-z`, `0-9` and `-`.
 *
 * **Life.** `capture` → any number of `create` with `SandboxSpec.from` → `remove`.
 *
 * **Guarantees.**
 * - `capture` is whole or not at all: it resolves when a crash of the machine would not lose the snapshot. When it fails, aborts or is killed
 *   at any line, the snapshot is not found, and what is left of it goes with the next `capture`, `remove` or restart. In every case the
 *   sandbox runs on; commands that the caller froze before stay frozen.
 * - The sandbox stands still only while its memory is written and its disk is cloned; nothing of the disk is copied or read.
 * - A snapshot never changes, and outlives the sandbox that it was made of. What started from it depends on it no longer: `remove` succeeds
 *   at any time, and is repeatable. A `create` or `start` from it at the same time either has all of it or fails with `not_found`, reason
 *   `snapshot_not_found`.
 * - A sandbox that starts from it is isolated from the source, and from all others of the same snapshot, as any two sandboxes are: a range of
 *   user ids, a network and a disk quota of its own. Its disk shares unchanged data with the snapshot.
 * - With `from.memory` its processes go on at `start` where they stood; nothing of the guest but the agent runs before the agent's `/init`.
 *   Its host name is that of its spec; connections are closed; the monotonic clock goes on. Else `start` boots it from the disk.
 *
 * **Example.**
 * ```ts
 * const snapshot = await driver.snapshots.capture(handle, { id: "s1", memory: true }, signal);
 * const fork = await driver.create({ ...spec, sandboxId: "other", from: { snapshot: "s1", memory: true } }, signal);
 * await driver.start(fork, signal);            // its agent answers; `/init` lets its processes go on
 * await driver.snapshots.remove("s1");         // the fork goes on
 * ```
 */
export interface SnapshotStore {
  /** Of a running sandbox, which goes on. An id that there is: `already_exists`. `memory` where only disks can be kept: as with `pause`. */
  capture(handle: SandboxHandle, options: CaptureOptions, signal: AbortSignal): Promise<SnapshotInfo>;
  /** Undefined when there is none that is whole. */
  get(id: string): Promise<SnapshotInfo | undefined>;
  /** Every whole one, in no order. */
  list(): Promise<readonly SnapshotInfo[]>;
  remove(id: string): Promise<void>;
  /** What it changed on its disk as a layer to put on `SnapshotInfo.layers`, for exports and for builds from it. Reads all of it. */
  toLayer(id: string, options: MakeLayerOptions): Promise<LayerInfo>;
}

export interface CaptureOptions {
  readonly id: string;
  /** True: processes with their memory, and the disk. False: the disk alone. */
  readonly memory: boolean;
}

export interface SnapshotInfo {
  readonly id: string;
  readonly memory: boolean;
  /** Digests of the layers that it stands on, lowest first: those of the source's image. */
  readonly layers: readonly string[];
  /** Bytes of memory that a start from it takes at once; 0 without memory. */
  readonly memoryBytes: number;
  /** What its disk holds above the layers; counts against the quota of each sandbox that starts from it. */
  readonly diskUsedBytes: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

export const snapshotNotFound = (id: string) =>
  new AppError("not_found", `There is no snapshot ${id} on this machine`, { reason: "snapshot_not_found" });

/** For drivers without the ability `snapshots`: there are none, and what needs one is `unimplemented`. */
export function absentSnapshots(driver: string): SnapshotStore {
  const absent = () =>
    Promise.reject(new AppError("unimplemented", `The ${driver} driver keeps no snapshots`, { reason: "snapshots_unimplemented" }));
  return { capture: absent, get: async () => undefined, list: async () => [], remove: async () => {}, toLayer: absent };
}
