import {
  checkVolumeAttributes,
  type ListOptions,
  type MakeOptions,
  type ReadOptions,
  type VolumeAttributes,
  type VolumeContent,
  type VolumeEntry,
  type VolumeFile,
  volumePathParts,
  type WriteOptions,
} from "@boxyard/driver";
import { mkdirAt, openAt, renameAt, statAt, TYPE, typeOf } from "../sys/at.ts";
import { close, O } from "../sys/libc.ts";
import { defined, setAttributes } from "./attributes.ts";
import { entryAt, entryOf, listTree } from "./entries.ts";
import { byteName, openPath, type Place, withParent, withPath, withRoot } from "./places.ts";
import { openedFile } from "./read.ts";
import { contentError, isRoot, pathExists, pathNotFound } from "./refusals.ts";
import { removeEntry } from "./remove.ts";
import { writeWhole } from "./write.ts";

const MODES = { file: 0o644, directory: 0o755 } as const;

/** The files of volumes, with the kernel's calls relative to open directories: no link in a volume, which sandboxes write, leads out of it. */
export class LocalVolumeContent implements VolumeContent {
  private readonly diskOf: (id: string) => string;

  /** `diskOf`: path of a volume's subvolume; throws where there is no such volume. */
  constructor(diskOf: (id: string) => string) {
    this.diskOf = diskOf;
  }

  async stat(id: string, path: string): Promise<VolumeEntry> {
    return this.at(id, path, (root, parts) => {
      if (parts.length === 0) return entryOf(root, parts);
      return withParent(root, parts, (place) => entryAt(place.directory, parts));
    });
  }

  async list(id: string, path: string, { depth }: ListOptions): Promise<readonly VolumeEntry[]> {
    return this.at(id, path, (root, parts) =>
      withPath(root, parts, O.RDONLY | O.DIRECTORY | O.NOFOLLOW, (directory) => listTree(directory, parts, depth)),
    );
  }

  async read(id: string, path: string, options: ReadOptions): Promise<VolumeFile> {
    options.signal.throwIfAborted();
    return this.at(id, path, (root, parts) => openedFile(root, parts, options));
  }

  async write(id: string, path: string, source: ReadableStream<Uint8Array>, options: WriteOptions): Promise<VolumeEntry> {
    try {
      options.signal.throwIfAborted();
      checkVolumeAttributes(options);
      const parts = volumePathParts(path);
      return await writeWhole(this.diskOf(id), parts, source, {
        mode: MODES.file,
        ...defined(options),
        force: options.force,
        signal: options.signal,
      });
    } catch (error) {
      if (!source.locked) await source.cancel(error).catch(() => {});
      throw options.signal.aborted ? options.signal.reason : contentError(id, path, error);
    }
  }

  async makeDirectory(id: string, path: string, { force = false, ...attributes }: MakeOptions): Promise<VolumeEntry> {
    checkVolumeAttributes(attributes);
    return this.at(id, path, (root, parts) => {
      for (const [i] of force ? parts.entries() : []) {
        if (i > 0) withParent(root, parts.slice(0, i), (place) => makeMissing(place, { mode: MODES.directory }));
      }
      if (parts.length === 0 && !force) throw pathExists(path);
      if (parts.length === 0) return entryOf(root, parts);
      return withParent(root, parts, (place) => {
        if (!makeMissing(place, { mode: MODES.directory, ...defined(attributes) }) && !force) throw pathExists(path);
        return entryAt(place.directory, parts);
      });
    });
  }

  async move(id: string, from: string, to: string, { force = false }: { readonly force?: boolean } = {}): Promise<VolumeEntry> {
    return this.at(id, from, (root, parts) => {
      const target = volumePathParts(to);
      if (parts.length === 0 || target.length === 0) throw isRoot();
      return withParent(root, parts, (source) =>
        withParent(root, target, (place) => {
          if (!statAt(source.directory, source.name)) throw pathNotFound(from);
          renameAt(source.directory, source.name, place.directory, place.name, { replace: force });
          return entryAt(place.directory, target);
        }),
      );
    });
  }

  async remove(id: string, path: string): Promise<void> {
    const parts = volumePathParts(path);
    try {
      if (parts.length === 0) throw isRoot();
      const directory = withRoot(this.diskOf(id), (root) => openPath(root, parts.slice(0, -1), O.RDONLY | O.DIRECTORY));
      try {
        await removeEntry({ directory, name: byteName(parts.at(-1) ?? "") });
      } finally {
        close(directory);
      }
    } catch (error) {
      throw contentError(id, path, error);
    }
  }

  async update(id: string, path: string, attributes: VolumeAttributes): Promise<VolumeEntry> {
    checkVolumeAttributes(attributes);
    return this.at(id, path, (root, parts) =>
      withPath(root, parts, O.RDONLY | O.NONBLOCK, (fd) => {
        setAttributes(fd, attributes);
        return entryOf(fd, parts);
      }),
    );
  }

  /** Runs `work` with the open root of the volume and the parts of the path. */
  private at<T>(id: string, path: string, work: (root: number, parts: readonly string[]) => T): T {
    const parts = volumePathParts(path);
    try {
      return withRoot(this.diskOf(id), (root) => work(root, parts));
    } catch (error) {
      throw contentError(id, path, error);
    }
  }
}

/** Makes a directory unless there is one; false when there is. */
function makeMissing({ directory, name }: Place, attributes: VolumeAttributes): boolean {
  const found = statAt(directory, name);
  if (found && typeOf(found) !== TYPE.directory && typeOf(found) !== TYPE.symlink) throw pathExists(name);
  if (found) return false;
  mkdirAt(directory, name, MODES.directory);
  const fd = openAt(directory, name, O.RDONLY | O.DIRECTORY);
  try {
    setAttributes(fd, attributes);
  } finally {
    close(fd);
  }
  return true;
}
