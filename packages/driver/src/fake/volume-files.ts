import { AppError } from "@boxyard/core";
import { type VolumeAttributes, type VolumeEntry, volumePathParts } from "../storage/volume-content.ts";

const ROOT = "/";

interface FakeFile {
  /** Undefined for a directory. */
  bytes: Uint8Array<ArrayBuffer> | undefined;
  uid: number;
  gid: number;
  mode: number;
  at: number;
}

const pathNotFound = (path: string) => new AppError("not_found", `There is no ${path} in the volume`, { reason: "path_not_found" });
const pathExists = (path: string) => new AppError("already_exists", `There is a ${path} in the volume`, { reason: "path_exists" });
const wrongKind = (reason: string, path: string) => new AppError("failed_precondition", `${path} is of another kind`, { reason });

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** The files of one fake volume: directories and plain files, by path. */
export class FakeVolumeFiles {
  private readonly files: Map<string, FakeFile>;

  constructor(from?: FakeVolumeFiles) {
    const root: FakeFile = { bytes: undefined, uid: 0, gid: 0, mode: 0o777, at: Date.now() };
    this.files = new Map([...(from?.files ?? [[ROOT, root]])].map(([path, file]) => [path, { ...file }]));
  }

  get usedBytes(): number {
    return [...this.files.values()].reduce((sum, { bytes }) => sum + (bytes?.length ?? 0), 0);
  }

  pathOf(path: string): string {
    return `/${volumePathParts(path).join("/")}`;
  }

  entry(path: string): VolumeEntry {
    const { bytes, uid, gid, mode, at } = this.found(path);
    const times = { accessedAt: at, modifiedAt: at, changedAt: at };
    const type = bytes ? "file" : "directory";
    return { name: nameOf(path), path, type, sizeBytes: bytes?.length ?? 0, mode, uid, gid, ...times };
  }

  /** Paths below a directory, down to `depth` levels. */
  below(path: string, depth: number): string[] {
    if (this.found(path).bytes) throw wrongKind("not_a_directory", path);
    const level = (of: string) => volumePathParts(of).length;
    return [...this.files.keys()].filter((other) => this.isBelow(other, path) && level(other) - level(path) <= depth).sort();
  }

  bytesOf(path: string): Uint8Array<ArrayBuffer> {
    const { bytes } = this.found(path);
    if (!bytes) throw wrongKind("not_a_file", path);
    return bytes;
  }

  put(
    path: string,
    bytes: Uint8Array<ArrayBuffer> | undefined,
    { uid = 0, gid = 0, mode = bytes ? 0o644 : 0o755 }: VolumeAttributes,
  ): void {
    this.needParent(path);
    this.files.set(path, { bytes, uid, gid, mode, at: Date.now() });
  }

  /** Makes room for a file at `path`. */
  mayReplace(path: string, force: boolean): void {
    this.needParent(path);
    const old = this.files.get(path);
    if (old && !force) throw pathExists(path);
    if (old && !old.bytes) throw wrongKind("not_a_file", path);
  }

  makeDirectory(path: string, force: boolean, attributes: VolumeAttributes): void {
    const old = this.files.get(path);
    if (old && (old.bytes || !force)) throw pathExists(path);
    if (old) return;
    if (force) this.makeDirectory(this.parentOf(path), true, {});
    this.put(path, undefined, attributes);
  }

  move(from: string, to: string, force: boolean): void {
    this.found(from);
    this.needParent(to);
    if (from === to) return;
    if (this.files.has(to) && !force) throw pathExists(to);
    if (this.isBelow(to, from)) throw new AppError("invalid_argument", "A directory cannot be moved into itself", { reason: "bad_path" });
    for (const path of [...this.files.keys()]) {
      if (path !== from && !this.isBelow(path, from)) continue;
      this.files.set(to + path.slice(from.length), this.found(path));
      this.files.delete(path);
    }
  }

  remove(path: string): void {
    if (path === ROOT) throw wrongKind("is_root", path);
    this.found(path);
    for (const other of [...this.files.keys()]) if (other === path || this.isBelow(other, path)) this.files.delete(other);
  }

  update(path: string, { uid, gid, mode }: VolumeAttributes): void {
    const file = this.found(path);
    Object.assign(file, { ...(uid !== undefined && { uid }), ...(gid !== undefined && { gid }), ...(mode !== undefined && { mode }) });
  }

  private found(path: string): FakeFile {
    const file = this.files.get(path);
    if (!file) throw pathNotFound(path);
    return file;
  }

  private needParent(path: string): void {
    const parent = this.parentOf(path);
    if (path === ROOT || !this.files.has(parent)) throw path === ROOT ? pathExists(path) : pathNotFound(parent);
    if (this.files.get(parent)?.bytes) throw wrongKind("not_a_directory", parent);
  }

  private parentOf(path: string): string {
    return path.slice(0, path.lastIndexOf("/")) || ROOT;
  }

  private isBelow(path: string, directory: string): boolean {
    return path !== directory && path.startsWith(directory === ROOT ? ROOT : `${directory}/`);
  }
}
