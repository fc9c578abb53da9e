import { Cleanup, runSteps, SerialQueues } from "@boxyard/core";
import { fromErrno } from "@boxyard/core/node";
import {
  type CreateVolumeOptions,
  checkVolumeLimit,
  damagedVolume,
  type VolumeContent,
  type VolumeInfo,
  type VolumeStore,
  volumeExists,
  volumeInUse,
  volumeTooSmall,
} from "@boxyard/driver";
import type { LocalParts } from "../sandbox/parts.ts";
import { sandboxesWith } from "../sandbox/recover.ts";
import { exportVolume } from "../user-volumes/archive.ts";
import { LocalVolumeContent } from "../user-volumes/content.ts";
import { type CreateVolumeContext, createVolumeSteps } from "../user-volumes/create.ts";
import { type VolumeFile, VolumeFiles } from "../user-volumes/volume-files.ts";

/** Name, for observers, of what makes a removed volume not found. */
export const HIDE_VOLUME = "hideVolume";

/** A create takes milliseconds, and nothing ends it early. */
const NEVER = new AbortController().signal;

/** The volumes of the pool. Keeps no record of them in memory: each answer comes from the disk. */
export class LocalVolumes implements VolumeStore {
  readonly content: VolumeContent;
  private readonly parts: Pick<LocalParts, "paths" | "storage" | "clock" | "observer" | "onUndoError">;
  private readonly files: VolumeFiles;
  /** Changes of one volume run one after the other. */
  private readonly queues = new SerialQueues<string>();
  /** Ids of volumes that are being made or removed. */
  private readonly changing = new Set<string>();

  constructor(parts: Pick<LocalParts, "paths" | "storage" | "clock" | "observer" | "onUndoError">) {
    this.parts = parts;
    this.files = new VolumeFiles(parts.storage.userVolumesRoot);
    this.content = new LocalVolumeContent((id) => this.files.diskOf(this.files.get(id).id));
  }

  async create(id: string, options: CreateVolumeOptions): Promise<VolumeInfo> {
    try {
      return await this.make(id, options);
    } catch (error) {
      const source = options.archive?.source;
      if (source && !source.locked) await source.cancel(error).catch(() => {});
      throw error;
    }
  }

  private async make(id: string, options: CreateVolumeOptions): Promise<VolumeInfo> {
    this.files.pathOf(id);
    checkVolumeLimit(options.limitBytes);
    return this.change(id, async () => {
      if (this.files.find(id)) throw volumeExists(id);
      const ctx: CreateVolumeContext = {
        ...this.sizeOf(id, options),
        archive: options.archive,
        storage: this.parts.storage,
        files: this.files,
        id,
        baseBytes: 0,
        createdAt: this.parts.clock.now(),
      };
      const undo = new Cleanup(this.parts.onUndoError);
      try {
        await runSteps(createVolumeSteps, ctx, undo, NEVER, this.parts.observer);
      } catch (error) {
        options.archive?.signal.throwIfAborted();
        throw fromErrno(`create volume ${id}`, error);
      }
      undo.disarm();
      return this.infoOf(this.files.get(id));
    });
  }

  private sizeOf(id: string, { limitBytes, from }: CreateVolumeOptions): Pick<CreateVolumeContext, "from" | "heldBytes" | "limitBytes"> {
    const heldBytes = from === undefined ? 0 : this.usedBytes(this.files.get(from));
    if (heldBytes > limitBytes) throw volumeTooSmall(from ?? id, heldBytes, limitBytes);
    return { from, heldBytes, limitBytes };
  }

  async get(id: string): Promise<VolumeInfo | undefined> {
    const file = this.files.find(id);
    return file && this.infoOf(file);
  }

  async list(): Promise<readonly VolumeInfo[]> {
    return this.files.list().map((file) => ("damaged" in file ? damagedVolume(file.id) : this.infoOf(file)));
  }

  async resize(id: string, limitBytes: number): Promise<VolumeInfo> {
    checkVolumeLimit(limitBytes);
    return this.queues.run(id, async () => {
      const file = this.files.get(id);
      const usedBytes = this.usedBytes(file);
      if (usedBytes > limitBytes) throw volumeTooSmall(id, usedBytes, limitBytes);
      const resized = { ...file, limitBytes };
      await this.files.write(resized);
      await this.parts.storage.limitTree(this.files.diskOf(id), limitBytes - file.baseBytes);
      return this.infoOf(resized);
    });
  }

  async export(id: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    signal.throwIfAborted();
    const { limitBytes } = this.files.get(id);
    return exportVolume({ disk: this.files.diskOf(id), limitBytes }, signal);
  }

  async remove(id: string): Promise<void> {
    this.files.pathOf(id);
    await this.change(id, async () => {
      // Nothing comes between the two: a sandbox that names the volume later does not find it (`requireVolumes`).
      const users = sandboxesWith(this.parts.paths, id);
      if (users.length > 0) throw volumeInUse(id, users);
      this.files.hide(id);
      await this.parts.observer.after?.(HIDE_VOLUME);
      await this.files.remove(id);
    });
  }

  /** Removes what is left of creates and removals that were cut off. */
  async sweep(): Promise<void> {
    for (const id of this.files.incomplete()) if (!this.changing.has(id)) await this.files.remove(id);
  }

  private usedBytes({ id, baseBytes }: VolumeFile): number {
    return this.parts.storage.usageOf(this.files.diskOf(id)) + baseBytes;
  }

  private infoOf(file: VolumeFile): VolumeInfo {
    const { id, limitBytes, createdAt } = file;
    return { id, limitBytes, usedBytes: this.usedBytes(file), createdAt };
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
