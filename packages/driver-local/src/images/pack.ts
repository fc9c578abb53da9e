import { AppError } from "@boxyard/core/errors";
import { getXattr, isWhiteout, listXattrs, namesIn, readlinkAt, type Stat, statAt, statFd, TYPE, typeOf, withOpen } from "../sys/at.ts";
import { O, syscall } from "../sys/libc.ts";
import { isKept, OPAQUE } from "./attributes.ts";
import { show } from "./byte-paths.ts";
import type { SkeletonWriter } from "./skeleton-writer.ts";
import { type HeaderFacts, headerBytes, paddingOf, tarEnd } from "./tar/writer.ts";

const WHITEOUT = ".wh.";
const MAX_TIME = 0o77777777777;
const PIECE_BYTES = 1 << 20;

export interface Packed {
  readonly digest: string;
  readonly sizeBytes: number;
}

export interface PackBounds {
  readonly maxBytes: number;
  readonly maxEntries: number;
}

const tooLarge = () => new AppError("resource_exhausted", "The layer is larger than allowed", { reason: "layer_too_large" });

/**
 * Computes the tar of a layer's tree (with plain owners): writes its skeleton and returns digest and size. Equal trees have equal tars: names are
 * in the order of their bytes, times in whole seconds, and nothing depends on this machine.
 */
export function packTree(root: number, skeleton: SkeletonWriter, bounds: PackBounds): Packed {
  return new Packer(skeleton, bounds).pack(root);
}

class Packer {
  private readonly skeleton: SkeletonWriter;
  private readonly bounds: PackBounds;
  private readonly hash = new Bun.CryptoHasher("sha256");
  /** First path of each file that has several names, by inode number. */
  private readonly links = new Map<bigint, string>();
  private readonly piece = Buffer.alloc(PIECE_BYTES);
  private bytes = 0;
  private entries = 0;

  constructor(skeleton: SkeletonWriter, bounds: PackBounds) {
    this.skeleton = skeleton;
    this.bounds = bounds;
  }

  pack(root: number): Packed {
    this.directory(root, "", statFd(root));
    this.raw(tarEnd());
    this.skeleton.finish();
    return { digest: `sha256:${this.hash.digest("hex")}`, sizeBytes: this.bytes };
  }

  private directory(fd: number, path: string, stat: Stat): void {
    const { xattrs, opaque } = attributesOf(fd);
    this.header(path === "" ? "./" : `${path}/`, "5", stat, { xattrs });
    if (opaque) this.mark(path, ".wh..wh..opq");
    const names = namesIn(fd).sort();
    for (const name of names) this.entry(fd, path === "" ? name : `${path}/${name}`, path, name);
  }

  private entry(dir: number, path: string, parent: string, name: string): void {
    const stat = statAt(dir, name);
    if (!stat) return;
    if (isWhiteout(stat)) {
      this.mark(parent, `${WHITEOUT}${name}`);
      return;
    }
    if (name.startsWith(WHITEOUT)) {
      throw new AppError("failed_precondition", `${show(`/${path}`)} has a name that marks a removed file in an image; rename it`, {
        reason: "reserved_name",
        details: { path: show(`/${path}`) },
      });
    }
    const kind = typeOf(stat);
    if (kind === TYPE.symlink) this.header(path, "2", stat, { link: readlinkAt(dir, name) });
    else if (kind === TYPE.fifo) this.header(path, "6", stat);
    else if (kind === TYPE.directory) withOpen(dir, name, O.DIRECTORY, (fd) => this.directory(fd, path, stat));
    else if (kind === TYPE.file) this.file(dir, path, name, stat);
  }

  private file(dir: number, path: string, name: string, stat: Stat): void {
    const first = stat.nlink > 1 ? this.links.get(stat.ino) : undefined;
    if (first !== undefined) {
      this.header(path, "1", stat, { link: first });
      return;
    }
    if (stat.nlink > 1) this.links.set(stat.ino, path);
    withOpen(dir, name, 0, (fd) => {
      this.header(path, "0", stat, { xattrs: attributesOf(fd).xattrs, size: stat.size });
      if (stat.size > 0) this.content(fd, path, stat.size);
    });
  }

  private content(fd: number, path: string, size: number): void {
    this.count(size);
    this.skeleton.content(path, size);
    for (let left = size; left > 0; ) {
      const length = syscall("read", [fd, this.piece, Math.min(left, PIECE_BYTES)]);
      if (length === 0) throw new AppError("internal", `${show(path)} became shorter while it was read`, { reason: "layer_changed" });
      this.hash.update(this.piece.subarray(0, length));
      left -= length;
    }
    this.raw(paddingOf(size));
  }

  /** Writes an empty file whose name marks a removed file or an opaque directory. */
  private mark(parent: string, name: string): void {
    const path = parent === "" ? name : `${parent}/${name}`;
    this.raw(this.counted({ path, type: "0", mode: 0, uid: 0, gid: 0, size: 0, mtime: 0 }));
  }

  private header(path: string, type: string, stat: Stat, more: Partial<Pick<HeaderFacts, "link" | "xattrs" | "size">> = {}): void {
    const mtime = Math.min(Math.max(stat.mtimeSec, 0), MAX_TIME);
    this.raw(this.counted({ path, type, mode: stat.mode & 0o7777, uid: stat.uid, gid: stat.gid, size: 0, mtime, ...more }));
  }

  private counted(facts: HeaderFacts): Buffer {
    if (++this.entries > this.bounds.maxEntries) throw tooLarge();
    return headerBytes(facts);
  }

  private raw(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.count(bytes.length);
    this.hash.update(bytes);
    this.skeleton.raw(bytes);
  }

  /** Called before the content is read: a sparse file may have a size larger than any disk. */
  private count(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > this.bounds.maxBytes) throw tooLarge();
  }
}

function attributesOf(fd: number): { xattrs: Map<string, Uint8Array>; opaque: boolean } {
  const xattrs = new Map<string, Uint8Array>();
  let opaque = false;
  for (const name of listXattrs(fd)) {
    const value = isKept(name) || name === OPAQUE ? getXattr(fd, name) : undefined;
    if (name === OPAQUE) opaque = value?.[0] === 0x79;
    else if (value) xattrs.set(name, value);
  }
  return { xattrs, opaque };
}
