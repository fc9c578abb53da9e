import { existsSync } from "node:fs";
import { AppError, SerialQueues } from "@boxyard/core";
import {
  type CaptureOptions,
  damagedSnapshot,
  type LayerInfo,
  type MakeLayerOptions,
  type SandboxHandle,
  type SandboxSpec,
  type SnapshotInfo,
  type SnapshotStore,
  sameVolumeMounts,
  volumesDiffer,
} from "@boxyard/driver";
import type { SandboxCgroup } from "../cgroup/sandbox-cgroup.ts";
import { noCriu } from "../checkpoint/dump.ts";
import { type SnapshotFile, SnapshotFiles, type SnapshotSource } from "../checkpoint-store/snapshot-files.ts";
import type { LayerStore } from "../images/index.ts";
import { GUEST_DIRECTORY } from "../rootfs/mounts.ts";
import { OWN_FILES } from "../rootfs/upper.ts";
import { cgroupOf, type LocalParts } from "../sandbox/parts.ts";
import type { LocalSandboxes } from "../sandbox/sandboxes.ts";
import { captureSandbox } from "./capture.ts";

/** The snapshots of the pool. Keeps no record of them in memory: each answer comes from the disk. */
export class LocalSnapshots implements SnapshotStore {
  private readonly parts: LocalParts;
  private readonly layers: LayerStore;
  private readonly sandboxes: LocalSandboxes;
  private readonly files: SnapshotFiles;
  /** Captures and removals of one snapshot run one after the other. */
  private readonly queues = new SerialQueues<string>();
  /** Ids of snapshots that are being made or removed. */
  private readonly changing = new Set<string>();
  /** Starts under way from each snapshot; its removal waits for them. */
  private readonly uses = new Map<string, Set<Promise<unknown>>>();

  constructor(parts: LocalParts, layers: LayerStore, sandboxes: LocalSandboxes) {
    this.parts = parts;
    this.layers = layers;
    this.sandboxes = sandboxes;
    this.files = new SnapshotFiles(parts.storage.snapshotsRoot);
  }

  async capture(handle: SandboxHandle, options: CaptureOptions, signal: AbortSignal): Promise<SnapshotInfo> {
    const { id, memory } = options;
    this.files.pathOf(id);
    return this.change(id, async () => {
      await this.sweep();
      signal.throwIfAborted();
      if (this.files.find(id)) throw new AppError("already_exists", `Snapshot ${id} exists already`, { reason: "snapshot_exists" });
      return this.sandboxes.whileRunning(handle, async (record) => {
        if (memory && !this.parts.criu) throw noCriu();
        return infoOf(await captureSandbox({ parts: this.parts, files: this.files, record, options }, signal));
      });
    });
  }

  async get(id: string): Promise<SnapshotInfo | undefined> {
    const file = this.files.find(id);
    return file && infoOf(file);
  }

  async list(): Promise<readonly SnapshotInfo[]> {
    return this.files.list().map((file) => ("damaged" in file ? damagedSnapshot(file.id) : infoOf(file)));
  }

  async remove(id: string): Promise<void> {
    this.files.pathOf(id);
    await this.change(id, async () => {
      this.files.hide(id);
      await Promise.allSettled(this.uses.get(id) ?? []);
      await this.files.remove(id);
    });
  }

  toLayer(id: string, options: MakeLayerOptions): Promise<LayerInfo> {
    return this.use(id, ({ file, disk }) => {
      const leaveOut = [...OWN_FILES, GUEST_DIRECTORY, ...file.remapped];
      return this.layers.commit((work) => work({ volume: disk, uidBase: file.diskUidBase, leaveOut }), options);
    });
  }

  /** Ids of the snapshots that use a layer, as a damaged one may. Synchronous, so that nothing changes between the answer and what the caller does next. */
  usersOf(digest: string): string[] {
    return this.files
      .list()
      .filter((file) => "damaged" in file || file.layers.includes(digest))
      .map(({ id }) => id);
  }

  /** Runs `work` with the snapshot that the spec names (undefined without one), which is not removed before `work` has settled. */
  async useFor<T>({ from, image, volumes }: SandboxSpec, work: (source: SnapshotSource | undefined) => Promise<T>): Promise<T> {
    if (!from) return work(undefined);
    return this.use(from.snapshot, (source) => {
      const { id, memory, layers } = source.file;
      if (from.memory && !memory) {
        throw new AppError("failed_precondition", `Snapshot ${id} holds no memory`, { reason: "no_memory_snapshot" });
      }
      if (from.memory && !this.parts.criu) throw noCriu();
      if (from.memory && !sameVolumeMounts(source.file.volumes, volumes)) throw volumesDiffer();
      if (layers.join() !== image.layers.join()) {
        throw new AppError("invalid_argument", `Snapshot ${id} stands on other layers than the image`, { reason: "snapshot_layers" });
      }
      return work(source);
    });
  }

  async use<T>(id: string, work: (source: SnapshotSource) => Promise<T>): Promise<T> {
    const source = { file: this.files.get(id), disk: this.files.diskOf(id), images: this.files.imagesOf(id) };
    const uses = this.uses.get(id) ?? new Set();
    this.uses.set(id, uses);
    const use = work(source);
    uses.add(use);
    try {
      return await use;
    } finally {
      uses.delete(use);
      if (uses.size === 0) this.uses.delete(id);
    }
  }

  /** Removes what is left of captures and removals that were cut off. */
  async sweep(): Promise<void> {
    for (const id of this.files.incomplete()) if (!this.changing.has(id)) await this.files.remove(id);
  }

  /** Undoes captures that an earlier process did not finish: thaws the sandboxes that they froze, and removes what they wrote. */
  async recover(): Promise<void> {
    for (const id of this.files.incomplete()) {
      const attempt = this.files.attemptOf(id);
      if (attempt && !attempt.wasFrozen) await thaw(cgroupOf(this.parts, attempt.sandboxId));
    }
    await this.sweep();
  }

  private change<T>(id: string, work: () => Promise<T>): Promise<T> {
    return this.queues.run(id, async () => {
      this.changing.add(id);
      try {
        return await work();
      } finally {
        this.changing.delete(id);
      }
    });
  }
}

async function thaw(cgroup: SandboxCgroup): Promise<void> {
  if (existsSync(cgroup.top) && cgroup.isFreezeRequested()) await cgroup.freeze(false);
}

function infoOf({ id, memory, layers, volumes, memoryBytes, diskUsedBytes, createdAt }: SnapshotFile): SnapshotInfo {
  return { id, memory, layers, ...(volumes && { volumes }), memoryBytes, diskUsedBytes, createdAt };
}
