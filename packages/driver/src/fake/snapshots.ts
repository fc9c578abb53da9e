import { AppError } from "@boxyard/core";
import type { CheckpointAbility } from "../checkpoint/generation.ts";
import type { SandboxHandle } from "../handle.ts";
import { imagesUnimplemented } from "../images/images.ts";
import type { SandboxSpec } from "../runtime/types.ts";
import type { LayerInfo, MakeLayerOptions } from "../storage/layers.ts";
import { type CaptureOptions, damagedSnapshot, type SnapshotInfo, type SnapshotStore, snapshotNotFound } from "../storage/snapshots.ts";
import type { VolumeMount } from "../storage/volume-mounts.ts";
import type { FakeImages } from "./images.ts";
import type { FakeSandboxes } from "./sandboxes.ts";
import type { FakeWorld } from "./world.ts";

/** Snapshots of fake sandboxes: their files, by path. */
export class FakeSnapshots implements SnapshotStore {
  private readonly world: FakeWorld;
  private readonly images: FakeImages;
  private readonly sandboxes: FakeSandboxes;

  constructor(world: FakeWorld, images: FakeImages, sandboxes: FakeSandboxes) {
    this.world = world;
    this.images = images;
    this.sandboxes = sandboxes;
  }

  capture(handle: SandboxHandle, { id, memory }: CaptureOptions, signal: AbortSignal): Promise<SnapshotInfo> {
    return this.world.faults.around("capture", signal, async () => {
      signal.throwIfAborted();
      const { spec, files } = this.sandboxes.alive(handle);
      mayKeep(this.world.checkpoint, memory);
      if (!/^[a-z0-9-]{1,64}$/.test(id)) throw new AppError("invalid_argument", "The id of a snapshot is malformed", { reason: "bad_id" });
      if (this.world.snapshots.has(id)) {
        throw new AppError("already_exists", `Snapshot ${id} exists already`, { reason: "snapshot_exists" });
      }
      const layers = [...spec.image.layers];
      const { volumes } = spec;
      const info = {
        id,
        memory,
        layers,
        ...(volumes && { volumes }),
        memoryBytes: memory ? 1 << 20 : 0,
        diskUsedBytes: files.size * 4096,
        createdAt: Date.now(),
      };
      this.world.snapshots.set(id, { info, files: new Map(files) });
      return info;
    });
  }

  get(id: string): Promise<SnapshotInfo | undefined> {
    return this.world.faults.around("snapshot", undefined, async () => this.readable(id)?.info);
  }

  list(): Promise<readonly SnapshotInfo[]> {
    return this.world.faults.around("listSnapshots", undefined, async () =>
      [...this.world.snapshots.values()].map(({ info, damaged }) => (damaged ? damagedSnapshot(info.id) : info)),
    );
  }

  remove(id: string): Promise<void> {
    return this.world.faults.around("removeSnapshot", undefined, async () => {
      this.world.snapshots.delete(id);
    });
  }

  async toLayer(id: string, options: MakeLayerOptions): Promise<LayerInfo> {
    if (this.world.lacks.has("images")) throw imagesUnimplemented("fake");
    return this.images.layerOf(this.found(id).files, options);
  }

  /** The files of a new sandbox with this spec. */
  filesFor({ from }: SandboxSpec): ReadonlyMap<string, string> {
    if (!from) return new Map();
    const snapshot = this.found(from.snapshot);
    if (from.memory && !snapshot.info.memory) {
      throw new AppError("failed_precondition", `Snapshot ${from.snapshot} holds no memory`, { reason: "no_memory_snapshot" });
    }
    return snapshot.files;
  }

  /** The volumes with which the processes of the spec's snapshot were kept; undefined if none go on. */
  volumesFor({ from }: SandboxSpec): readonly VolumeMount[] | undefined {
    return from?.memory ? (this.found(from.snapshot).info.volumes ?? []) : undefined;
  }

  private readable(id: string) {
    const snapshot = this.world.snapshots.get(id);
    if (snapshot?.damaged) throw new AppError("data_loss", `Snapshot ${id} is damaged`, { reason: "bad_snapshot" });
    return snapshot;
  }

  private found(id: string) {
    const snapshot = this.readable(id);
    if (!snapshot) throw snapshotNotFound(id);
    return snapshot;
  }
}

export function mayKeep(ability: CheckpointAbility, memory: boolean): void {
  if (ability === "none") throw new AppError("unimplemented", "Nothing can be kept here", { reason: "no_checkpoint" });
  if (memory && ability !== "memory") {
    throw new AppError("failed_precondition", "Memory cannot be kept here", { reason: "no_memory_checkpoint" });
  }
}
