import { AppError } from "@boxyard/core";
import type { SandboxSpec } from "../runtime/types.ts";
import type { VolumeContent } from "../storage/volume-content.ts";
import { checkVolumeMounts, isVolumeId, sameVolumeMounts, type VolumeMount } from "../storage/volume-mounts.ts";
import {
  type CreateVolumeOptions,
  checkVolumeLimit,
  damagedVolume,
  type VolumeArchive,
  type VolumeInfo,
  type VolumeStore,
  volumeDamaged,
  volumeExists,
  volumeFull,
  volumeInUse,
  volumeNotFound,
  volumesDiffer,
  volumeTooSmall,
} from "../storage/volumes.ts";
import { archiveOf, unpackInto } from "./volume-archive.ts";
import { FakeVolumeContent } from "./volume-content.ts";
import { FakeVolumeFiles } from "./volume-files.ts";
import type { FakeVolume, FakeWorld } from "./world.ts";

/** Volumes of a fake world. */
export class FakeVolumes implements VolumeStore {
  readonly content: VolumeContent;
  private readonly world: FakeWorld;

  constructor(world: FakeWorld) {
    this.world = world;
    this.content = new FakeVolumeContent(world, (id) => this.found(id));
  }

  create(id: string, { limitBytes, from, archive }: CreateVolumeOptions): Promise<VolumeInfo> {
    return this.world.faults.around("createVolume", undefined, async () => {
      if (!isVolumeId(id)) throw new AppError("invalid_argument", "The id of a volume is malformed", { reason: "bad_volume_id" });
      checkVolumeLimit(limitBytes);
      const source = from === undefined ? undefined : this.found(from);
      if (this.world.volumes.has(id)) throw volumeExists(id);
      const files = new FakeVolumeFiles(source?.files);
      if (files.usedBytes > limitBytes) throw volumeTooSmall(from ?? id, files.usedBytes, limitBytes);
      if (archive) unpackInto(files, await bytesOf(archive));
      if (files.usedBytes > limitBytes) throw volumeFull(id);
      const volume: FakeVolume = { id, limitBytes, createdAt: Date.now(), files };
      this.world.volumes.set(id, volume);
      return infoOf(volume);
    });
  }

  get(id: string): Promise<VolumeInfo | undefined> {
    return this.world.faults.around("volume", undefined, async () => {
      const volume = this.readable(id);
      return volume && infoOf(volume);
    });
  }

  list(): Promise<readonly VolumeInfo[]> {
    return this.world.faults.around("listVolumes", undefined, async () =>
      [...this.world.volumes.values()].map((volume) => (volume.damaged ? damagedVolume(volume.id) : infoOf(volume))),
    );
  }

  resize(id: string, limitBytes: number): Promise<VolumeInfo> {
    return this.world.faults.around("resizeVolume", undefined, async () => {
      checkVolumeLimit(limitBytes);
      const volume = this.found(id);
      if (volume.files.usedBytes > limitBytes) throw volumeTooSmall(id, volume.files.usedBytes, limitBytes);
      volume.limitBytes = limitBytes;
      return infoOf(volume);
    });
  }

  remove(id: string): Promise<void> {
    return this.world.faults.around("removeVolume", undefined, async () => {
      const users = [...this.world.sandboxes.values()].filter(({ spec }) => spec.volumes?.some(({ volume }) => volume === id));
      if (users.length > 0) {
        throw volumeInUse(
          id,
          users.map(({ handle }) => handle.sandboxId),
        );
      }
      this.world.volumes.delete(id);
    });
  }

  export(id: string): Promise<ReadableStream<Uint8Array>> {
    return this.world.faults.around("exportVolume", undefined, async () => new Blob([archiveOf(this.found(id).files)]).stream());
  }

  /** Throws unless a sandbox can start with the volumes of this spec. `kept`: those with which its processes were kept, if they go on. */
  check({ volumes }: SandboxSpec, kept?: readonly VolumeMount[]): void {
    checkVolumeMounts(volumes);
    if (kept && !sameVolumeMounts(kept, volumes)) throw volumesDiffer();
    for (const { volume } of volumes ?? []) this.found(volume);
  }

  private readable(id: string): FakeVolume | undefined {
    const volume = this.world.volumes.get(id);
    if (volume?.damaged) throw volumeDamaged(id);
    return volume;
  }

  private found(id: string): FakeVolume {
    const volume = this.readable(id);
    if (!volume) throw volumeNotFound(id);
    return volume;
  }
}

async function bytesOf({ source, signal }: VolumeArchive): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await new Response(source as ReadableStream<Uint8Array<ArrayBuffer>>).bytes();
  signal.throwIfAborted();
  return bytes;
}

const infoOf = ({ id, limitBytes, createdAt, files }: FakeVolume): VolumeInfo => ({
  id,
  limitBytes,
  usedBytes: files.usedBytes,
  createdAt,
});
