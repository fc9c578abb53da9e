import { type BigIntStats, linkSync, lstatSync, unlinkSync } from "node:fs";
import type { PinnedDir } from "../path/pinned-dir.ts";

/** Files with further names that are remembered at once, and bytes of their paths. Beyond them each name becomes a file of its own. */
const REMEMBERED = 100_000;
const PATH_BYTES = 32 * 1024 * 1024;

interface Copied {
  /** Path of the copy, relative to `top`. */
  readonly path: Buffer;
  readonly dev: bigint;
  readonly ino: bigint;
  /** Names of the original that were not copied yet. */
  left: bigint;
}

/** Files with several names in a tree that is copied: each is copied once, and its copy gets all the names. */
export class HardLinks {
  private readonly top: PinnedDir;
  private readonly copies = new Map<string, Copied>();
  /** Bytes of paths that can still be kept. */
  private room: number;

  /** Paths of copies are relative to `top`; they take at most `pathBytes` together. */
  constructor(top: PinnedDir, pathBytes = PATH_BYTES) {
    this.top = top;
    this.room = pathBytes;
  }

  /** Gives an earlier copy of the file this name too. False where there is no such copy, or the link fails: then the caller copies the file. */
  link(original: BigIntStats, to: PinnedDir, name: Buffer): boolean {
    const copied = this.copies.get(keyOf(original));
    if (!copied) return false;
    if (--copied.left === 0n && this.copies.delete(keyOf(original))) this.room += copied.path.length;
    try {
      linkSync(this.top.at(copied.path), to.at(name));
    } catch {
      // The path is too long, or the copy has as many names as a file can have.
      return false;
    }
    // The directories of the path belong to their owners by now. If one was exchanged, the new name may lead to another file.
    const linked = lstatSync(to.at(name), { bigint: true });
    if (linked.dev === copied.dev && linked.ino === copied.ino) return true;
    unlinkSync(to.at(name));
    return false;
  }

  /** Remembers a copy, if its original has further names and there is room. */
  add(original: BigIntStats, path: Buffer, { dev, ino }: BigIntStats): void {
    if (original.nlink < 2n || this.copies.size >= REMEMBERED || path.length > this.room) return;
    const key = keyOf(original);
    if (this.copies.has(key)) return;
    this.copies.set(key, { path, dev, ino, left: original.nlink - 1n });
    this.room -= path.length;
  }
}

const keyOf = ({ dev, ino }: BigIntStats) => `${dev}:${ino}`;
