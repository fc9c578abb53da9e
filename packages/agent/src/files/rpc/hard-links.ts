import { type BigIntStats, linkSync, lstatSync, unlinkSync } from "node:fs";
import type { PinnedDir } from "../path/pinned-dir.ts";

/** Files whose further names are awaited at once, and bytes of their paths. Beyond it each name becomes a file of its own. */
const REMEMBERED = 100_000;
const PATH_BYTES = 32 * 1024 * 1024;

interface Copied {
  /** Where it lies, from the top. */
  readonly path: Buffer;
  readonly dev: bigint;
  readonly ino: bigint;
  /** Names of the original that have not come yet. */
  left: bigint;
}

/** The files of several names in a tree that is being copied: their copies get the same names and stay one file. */
export class HardLinks {
  private readonly top: PinnedDir;
  private readonly copies = new Map<string, Copied>();
  /** Bytes of paths that there is room for. */
  private room: number;

  /** Paths begin at `top`. */
  constructor(top: PinnedDir, pathBytes = PATH_BYTES) {
    this.top = top;
    this.room = pathBytes;
  }

  /** Gives a copy that was made before this name too. False when there is none, or it can't get it: then the file is to be copied. */
  link(original: BigIntStats, to: PinnedDir, name: Buffer): boolean {
    const copied = this.copies.get(keyOf(original));
    if (!copied) return false;
    if (--copied.left === 0n && this.copies.delete(keyOf(original))) this.room += copied.path.length;
    try {
      linkSync(this.top.at(copied.path), to.at(name));
    } catch {
      // Longer than a path may be, or as many names as a file may have.
      return false;
    }
    // The path leads through directories that are their owners' again; who exchanged one gets no name of what lies elsewhere.
    const linked = lstatSync(to.at(name), { bigint: true });
    if (linked.dev === copied.dev && linked.ino === copied.ino) return true;
    unlinkSync(to.at(name));
    return false;
  }

  /** Remembers a copy. */
  add(original: BigIntStats, path: Buffer, { dev, ino }: BigIntStats): void {
    if (original.nlink < 2n || this.copies.size >= REMEMBERED || path.length > this.room) return;
    const key = keyOf(original);
    if (this.copies.has(key)) return;
    this.copies.set(key, { path, dev, ino, left: original.nlink - 1n });
    this.room -= path.length;
  }
}

const keyOf = ({ dev, ino }: BigIntStats) => `${dev}:${ino}`;
