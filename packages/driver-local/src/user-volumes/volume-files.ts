import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { AppError, isAppError } from "@boxyard/core";
import { isVolumeId, volumeDamaged, volumeNotFound } from "@boxyard/driver";
import { KEPT, readMarker, removeKept, writeMarker } from "../checkpoint-store/marker.ts";
import { checkMounted } from "../pool-storage/mounted.ts";

/** What is known of a volume besides its disk. It is written last: where it exists, the volume is whole. */
export interface VolumeFile {
  readonly version: 1;
  readonly id: string;
  /** Most bytes that it may hold. */
  readonly limitBytes: number;
  /** Bytes of it that the kernel charges to another volume, of which it began as a copy. */
  readonly baseBytes: number;
  readonly createdAt: number;
}

/** A volume whose marker exists, but cannot be read, or whose disk is gone. */
export interface DamagedVolume {
  readonly id: string;
  readonly damaged: true;
}

const MARKER = "volume.json";

/** The volumes of a pool, a directory each with the subvolume `disk` and a marker. While the pool is not mounted, all calls throw (see `checkMounted`). */
export class VolumeFiles {
  private readonly root: string;

  /** `root`: the pool's directory of volumes, which exists as long as the pool is mounted. */
  constructor(root: string) {
    this.root = root;
  }

  pathOf(id: string): string {
    if (!isVolumeId(id)) throw new AppError("invalid_argument", "The id of a volume is malformed", { reason: "bad_volume_id" });
    return join(this.root, id);
  }

  diskOf(id: string): string {
    return join(this.pathOf(id), KEPT.disk);
  }

  /** The whole volume of this id; undefined when there is none. Throws `data_loss`, reason `bad_volume`, when it is damaged. */
  find(id: string): VolumeFile | undefined {
    if (!isVolumeId(id)) return undefined;
    checkMounted(this.root);
    const file = this.read(id);
    if (file === undefined) return undefined;
    const isWhole = [file.limitBytes, file.baseBytes, file.createdAt].every(Number.isSafeInteger) && existsSync(this.diskOf(id));
    if (!isWhole) throw volumeDamaged(id);
    return file;
  }

  private read(id: string): VolumeFile | undefined {
    try {
      return readMarker<VolumeFile>(join(this.pathOf(id), MARKER), "bad_volume");
    } catch (error) {
      throw isAppError(error, "bad_volume") ? volumeDamaged(id) : error;
    }
  }

  get(id: string): VolumeFile {
    const file = this.find(id);
    if (!file) throw volumeNotFound(id);
    return file;
  }

  /** Every whole volume, and every damaged one. */
  list(): (VolumeFile | DamagedVolume)[] {
    return this.ids().flatMap((id) => this.look(id) ?? []);
  }

  private look(id: string): VolumeFile | DamagedVolume | undefined {
    try {
      return this.find(id);
    } catch (error) {
      if (isAppError(error, "bad_volume")) return { id, damaged: true };
      throw error;
    }
  }

  /** Most bytes that the kernel may charge to a volume; undefined when there is none, or it is damaged. */
  quotaOf(id: string): number | undefined {
    const file = isVolumeId(id) ? this.look(id) : undefined;
    return file && !("damaged" in file) ? file.limitBytes - file.baseBytes : undefined;
  }

  /** Ids of those that are not whole. */
  incomplete(): string[] {
    return this.ids().filter((id) => !existsSync(join(this.pathOf(id), MARKER)));
  }

  /** Makes the directory of a new volume. */
  begin(id: string): void {
    checkMounted(this.root);
    mkdirSync(this.pathOf(id), { mode: 0o700 });
  }

  write(file: VolumeFile): Promise<void> {
    return writeMarker(this.pathOf(file.id), MARKER, file);
  }

  /** From now on the volume is not found; `remove` does the rest. */
  hide(id: string): void {
    checkMounted(this.root);
    rmSync(join(this.pathOf(id), MARKER), { force: true });
  }

  /** Removes a volume, whole or not. Repeatable. */
  async remove(id: string): Promise<void> {
    checkMounted(this.root);
    await removeKept(this.pathOf(id), MARKER);
  }

  private ids(): string[] {
    checkMounted(this.root);
    return readdirSync(this.root).filter(isVolumeId);
  }
}
