import { AppError } from "@boxyard/core";
import type { SandboxHandle } from "../handle.ts";
import type { LayerInfo, MakeLayerOptions } from "./layers.ts";
import type { VolumeMount } from "./volume-mounts.ts";

/**
 * Copies of running sandboxes, from which any number of other sandboxes start: snapshots, forks and templates that start from memory.
 *
 * **Words.** A *snapshot* is the changes of a sandbox on its disk and, with `memory`, an image of its processes, both of one moment in which no process
 * ran. Its base are the layers of the sandbox's image; it belongs to no sandbox. The server chooses its id, 1 to 64 of `a-z`, `0-9` and `-`.
 *
 * **Life.** `capture` → any number of `create` with `SandboxSpec.from` → `remove`.
 *
 * **Guarantees.**
 * - `capture` makes a whole snapshot or none: it resolves when the snapshot survives a crash of the machine. When it fails, aborts or is killed at any
 *   line, the snapshot is not found, and its remains are removed by the next `capture`, `remove` or restart. In every case the sandbox runs on;
 *   commands that the caller froze before stay frozen.
 * - The sandbox is frozen only while its memory is written and its disk is cloned; no data of the disk is copied or read.
 * - A snapshot never changes, and outlives its source. Sandboxes that started from it do not need it any more: `remove` succeeds at any time, and is
 *   repeatable. A `create` or `start` from it at the same time either has all of it or fails with `not_found`, reason `snapshot_not_found`.
 * - What is kept of a snapshot may be damaged from outside. Then `get`, `toLayer` and every start from it throw `data_loss` (reason `bad_snapshot`);
 *   `list` includes it (`damaged`), and `remove` removes it. Until then no layer is removed, because it could stand on any.
 * - A sandbox that starts from it is isolated from the source, and from all others of the same snapshot, as any two sandboxes are: a range of
 *   user ids, a network and a disk quota of its own. Its disk shares unchanged data with the snapshot.
 * - With `from.memory` its processes go on at `start` from the captured moment; of the guest only the agent runs before the agent's `/init`. The host
 *   name is that of the spec; connections are closed; the monotonic clock goes on. Without memory `start` boots the sandbox from the disk.
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
  /** Captures a running sandbox, which goes on. Throws `already_exists` for a used id; where memory cannot be kept, the errors of `pause`. */
  capture(handle: SandboxHandle, options: CaptureOptions, signal: AbortSignal): Promise<SnapshotInfo>;
  /** The whole snapshot of this id; undefined when there is none. */
  get(id: string): Promise<SnapshotInfo | undefined>;
  /** Every whole snapshot, and every damaged one, in no order. */
  list(): Promise<readonly SnapshotInfo[]>;
  /** Repeatable; succeeds when there is none. */
  remove(id: string): Promise<void>;
  /**
   * Makes a layer of its disk changes, to put on `SnapshotInfo.layers`, for exports and for builds from it. Reads all of the changes. The guarantees of
   * `ImageDriver` for layers hold. Throws `not_found`, reason `snapshot_not_found`. Needs the capability `images` too.
   */
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
  /** Digests of the layers below it, lowest first: those of the source's image. */
  readonly layers: readonly string[];
  /** Volumes that the source had: a start with memory needs the same. Absent: none. */
  readonly volumes?: readonly VolumeMount[];
  /** Bytes of memory that a start from it takes at once; 0 without memory. */
  readonly memoryBytes: number;
  /** Bytes of its disk above the layers; they count against the quota of each sandbox that starts from it. */
  readonly diskUsedBytes: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** What is kept of it cannot be read, so that the other members are empty; only in `list`. */
  readonly damaged?: true;
}

/** The entry of a damaged snapshot in `SnapshotStore.list`. */
export const damagedSnapshot = (id: string): SnapshotInfo => ({
  ...{ id, memory: false, layers: [], memoryBytes: 0, diskUsedBytes: 0, createdAt: 0 },
  damaged: true,
});

export const snapshotNotFound = (id: string) =>
  new AppError("not_found", `There is no snapshot ${id} on this machine`, { reason: "snapshot_not_found" });

/** The store of drivers without the capability `snapshots`: it is empty, and `capture` and `toLayer` reject with `unimplemented`. */
export function absentSnapshots(driver: string): SnapshotStore {
  const absent = () =>
    Promise.reject(new AppError("unimplemented", `The ${driver} driver keeps no snapshots`, { reason: "snapshots_unimplemented" }));
  return { capture: absent, get: async () => undefined, list: async () => [], remove: async () => {}, toLayer: absent };
}
