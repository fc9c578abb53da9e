import { AppError } from "@boxyard/core/errors";
import { getXattr, listXattrs, namesIn, readlinkAt, type Stat, statAt, statFd, TYPE, typeOf, withOpen } from "../sys/at.ts";
import { hasErrno } from "../sys/errors.ts";
import { O, syscall } from "../sys/libc.ts";
import { isAcl } from "./attributes.ts";
import { show } from "./byte-paths.ts";
import { headerBytes, paddingOf, tarEnd } from "./tar/writer.ts";

export interface PackBounds {
  readonly maxEntries: number;
  readonly maxDepth: number;
  readonly maxBytes: number;
}

const PIECE_BYTES = 1 << 20;
const MAX_TIME = 0o77777777777;

/**
 * Writes the tar of a tree that sandboxes may change at the same time: what is gone when its turn comes is left out, and a file has the size that it had
 * when it was opened. Throws `resource_exhausted`, reason `archive_too_large`, beyond the bounds.
 */
export class VolumePacker {
  private readonly bounds: PackBounds;
  private readonly write: (bytes: Uint8Array) => void;
  /** First path of each file that has several names, by inode number. */
  private readonly links = new Map<bigint, string>();
  private readonly piece = Buffer.alloc(PIECE_BYTES);
  private entries = 0;
  private bytes = 0;

  constructor(bounds: PackBounds, write: (bytes: Uint8Array) => void) {
    this.bounds = bounds;
    this.write = write;
  }

  pack(root: number): void {
    this.directory(root, "", 0);
    this.write(tarEnd());
  }

  private directory(fd: number, path: string, depth: number): void {
    if (depth > this.bounds.maxDepth) throw this.tooLarge(`${show(path)} is deeper than ${this.bounds.maxDepth} levels`);
    this.header(path === "" ? "./" : `${path}/`, "5", statFd(fd), { xattrs: attributesOf(fd) });
    const names = namesIn(fd, this.bounds.maxEntries - this.entries).sort();
    for (const name of names) unlessGone(() => this.entry(fd, path === "" ? name : `${path}/${name}`, name, depth));
  }

  private entry(dir: number, path: string, name: string, depth: number): void {
    const stat = statAt(dir, name);
    if (!stat) return;
    const kind = typeOf(stat);
    if (kind === TYPE.symlink) this.header(path, "2", stat, { link: readlinkAt(dir, name) });
    else if (kind === TYPE.fifo) this.header(path, "6", stat);
    else if (kind === TYPE.directory) withOpen(dir, name, O.DIRECTORY, (fd) => this.directory(fd, path, depth + 1));
    else if (kind === TYPE.file) withOpen(dir, name, O.NONBLOCK, (fd) => this.file(fd, path));
  }

  private file(fd: number, path: string): void {
    const stat = statFd(fd);
    // Another kind of file has its name by now.
    if (typeOf(stat) !== TYPE.file) return;
    const first = stat.nlink > 1 ? this.links.get(stat.ino) : undefined;
    if (first !== undefined) {
      this.header(path, "1", stat, { link: first });
      return;
    }
    if (stat.nlink > 1) this.links.set(stat.ino, path);
    this.count(stat.size);
    this.header(path, "0", stat, { xattrs: attributesOf(fd), size: stat.size });
    this.content(fd, stat.size);
    this.write(paddingOf(stat.size));
  }

  /** Exactly `size` bytes: the rest of a file that becomes shorter is zeros. */
  private content(fd: number, size: number): void {
    for (let left = size; left > 0; ) {
      const length = syscall("read", [fd, this.piece, Math.min(left, PIECE_BYTES)]);
      if (length === 0) this.piece.fill(0);
      const piece = this.piece.subarray(0, length === 0 ? Math.min(left, PIECE_BYTES) : length);
      this.write(piece);
      left -= piece.length;
    }
  }

  private header(path: string, type: string, stat: Stat, more: Partial<Parameters<typeof headerBytes>[0]> = {}): void {
    if (++this.entries > this.bounds.maxEntries) throw this.tooLarge(`it has more than ${this.bounds.maxEntries} entries`);
    const { mode, uid, gid, mtimeSec } = stat;
    const bytes = headerBytes({ path, type, mode, uid, gid, size: 0, mtime: Math.min(Math.max(mtimeSec, 0), MAX_TIME), ...more });
    this.count(bytes.length);
    this.write(bytes);
  }

  /** Before they are written: a file with holes may say that it has more bytes than any disk. */
  private count(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > this.bounds.maxBytes) throw this.tooLarge(`its files, with their holes, have more than ${this.bounds.maxBytes} bytes`);
  }

  private tooLarge(why: string): AppError {
    return new AppError("resource_exhausted", `The volume cannot be exported: ${why}. Copy parts of it in a sandbox`, {
      reason: "archive_too_large",
    });
  }
}

function unlessGone(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!hasErrno(error, "ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "EINVAL")) throw error;
  }
}

/** File capabilities stay behind: they have no effect on a volume, and could have one where the tar is unpacked. */
export const isCarried = (name: string): boolean => isAcl(name) || (name.startsWith("user.") && name.length > "user.".length);

function attributesOf(fd: number): ReadonlyMap<string, Uint8Array> {
  const found = new Map<string, Uint8Array>();
  for (const name of listXattrs(fd).filter(isCarried)) {
    const value = getXattr(fd, name);
    if (value) found.set(name, value);
  }
  return found;
}
