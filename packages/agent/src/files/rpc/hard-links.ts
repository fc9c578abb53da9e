import { type BigIntStats, linkSync, lstatSync, unlinkSync } from "node:fs";
import type { PinnedDir } from "../path/pinned-dir.ts";

/** Files whose further names are awaited at once. Beyond it each name becomes a file of its own. */
const REMEMBERED = 100_000;

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

  /** Paths begin at `top`. */
  constructor(top: PinnedDir) {
    this.top = top;
  }

  /** Gives a copy that was made before this name too. False when there is none, or it can't get it: then the file is to be copied. */
  link(original: BigIntStats, to: PinnedDir, name: Buffer): boolean {
    const copied = this.copies.get(keyOf(original));
    if (!copied) return false;
    if (--copied.left === 0n) this.copies.delete(keyOf(original));
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
    if (original.nlink < 2n || this.copies.size >= REMEMBERED) return;
    const key = keyOf(original);
    if (!this.copies.has(key)) this.copies.set(key, { path, dev, ino, left: original.nlink - 1n });
  }
}

const keyOf = ({ dev, ino }: BigIntStats) => `${dev}:${ino}`;
