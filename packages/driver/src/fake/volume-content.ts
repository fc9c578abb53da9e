import { AppError } from "@boxyard/core";
import {
  checkVolumeAttributes,
  checkVolumeDepth,
  type ListOptions,
  MAX_VOLUME_ENTRIES,
  type MakeOptions,
  type ReadOptions,
  tooManyEntries,
  type VolumeAttributes,
  type VolumeContent,
  type VolumeEntry,
  type VolumeFile,
  type WriteOptions,
} from "../storage/volume-content.ts";
import type { FakeVolumeFiles } from "./volume-files.ts";
import type { FakeVolume, FakeWorld } from "./world.ts";

export class FakeVolumeContent implements VolumeContent {
  private readonly world: FakeWorld;
  private readonly find: (id: string) => FakeVolume;

  constructor(world: FakeWorld, find: (id: string) => FakeVolume) {
    this.world = world;
    this.find = find;
  }

  stat(id: string, path: string): Promise<VolumeEntry> {
    return this.at(id, path, (files, found) => files.entry(found));
  }

  list(id: string, path: string, { depth }: ListOptions): Promise<readonly VolumeEntry[]> {
    return this.at(id, path, (files, found) => {
      checkVolumeDepth(depth);
      const below = files.below(found, depth);
      if (below.length > MAX_VOLUME_ENTRIES) throw tooManyEntries();
      return below.map((other) => files.entry(other));
    });
  }

  read(id: string, path: string, { signal, start = 0, end }: ReadOptions): Promise<VolumeFile> {
    return this.at(id, path, (files, found) => {
      signal.throwIfAborted();
      const part = files.bytesOf(found).slice(start, end);
      return { entry: files.entry(found), lengthBytes: part.length, stream: new Blob([part]).stream() };
    });
  }

  async write(id: string, path: string, source: ReadableStream<Uint8Array>, options: WriteOptions): Promise<VolumeEntry> {
    try {
      return await this.take(id, path, source, options);
    } catch (error) {
      if (!source.locked) await source.cancel(error).catch(() => {});
      throw error;
    }
  }

  private async take(id: string, path: string, source: ReadableStream<Uint8Array>, options: WriteOptions): Promise<VolumeEntry> {
    const { signal, force = false } = options;
    signal.throwIfAborted();
    checkVolumeAttributes(options);
    await this.at(id, path, (files, found) => files.mayReplace(found, force));
    const bytes = await new Response(source as ReadableStream<Uint8Array<ArrayBuffer>>).bytes();
    signal.throwIfAborted();
    return this.at(id, path, (files, found) => {
      const { limitBytes } = this.find(id);
      if (files.usedBytes + bytes.length > limitBytes) {
        throw new AppError("resource_exhausted", `Volume ${id} is full`, { reason: "volume_full", details: { volume: id } });
      }
      files.mayReplace(found, force);
      files.put(found, bytes, options);
      return files.entry(found);
    });
  }

  makeDirectory(id: string, path: string, options: MakeOptions): Promise<VolumeEntry> {
    return this.at(id, path, (files, found) => {
      checkVolumeAttributes(options);
      files.makeDirectory(found, options.force ?? false, options);
      return files.entry(found);
    });
  }

  move(id: string, from: string, to: string, { force = false }: { readonly force?: boolean } = {}): Promise<VolumeEntry> {
    return this.at(id, from, (files, found) => {
      const target = files.pathOf(to);
      files.move(found, target, force);
      return files.entry(target);
    });
  }

  remove(id: string, path: string): Promise<void> {
    return this.at(id, path, (files, found) => files.remove(found));
  }

  update(id: string, path: string, attributes: VolumeAttributes): Promise<VolumeEntry> {
    return this.at(id, path, (files, found) => {
      checkVolumeAttributes(attributes);
      files.update(found, attributes);
      return files.entry(found);
    });
  }

  private at<T>(id: string, path: string, work: (files: FakeVolumeFiles, path: string) => T): Promise<T> {
    return this.world.faults.around("volumeContent", undefined, async () => {
      const { files } = this.find(id);
      return work(files, files.pathOf(path));
    });
  }
}
