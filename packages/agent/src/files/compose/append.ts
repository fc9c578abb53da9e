import { fdatasync, fstatSync } from "node:fs";
import { LIMITS } from "../limits.ts";
import { cloneRange, copySome } from "../sys/copy.ts";

/** Smallest unit that file systems share. 4 KiB on every file system we know with blocks; a wrong guess only means a copy. */
const BLOCK = 4096;
/** Below this there is nothing to wait for before sharing. */
const LARGE = 1024 * 1024;

const yieldTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** How often in a row the files of two devices could not share extents. */
const refusals = new Map<string, number>();
/** Two that refused so often are asked no more: before asking, data must be written out, which a plain copy does not need. */
const ENOUGH_REFUSALS = 3;
/** Far more than a sandbox has. Beyond it everything is asked anew. */
const MAX_PAIRS = 256;

/** Writes out what is only in memory. Best effort: the copy is right without it. */
function flush(fd: number): Promise<void> {
  return new Promise((resolve) => fdatasync(fd, () => resolve()));
}

/** The kernel's two ways. */
const KERNEL = { cloneRange, copySome };

/** Appends files to one, which is empty at first. */
export class Appender {
  private readonly to: number;
  private readonly kernel: typeof KERNEL;
  private end = 0;

  constructor(to: number, kernel = KERNEL) {
    this.to = to;
    this.kernel = kernel;
  }

  /**
   * Appends the first `length` bytes of a file without bringing them to user space: extents are shared where the place is block-aligned,
   * otherwise the kernel copies, in slices, between which other requests are served. Returns how many bytes there were, which are fewer where
   * the source is shorter. Throws the kernel's error.
   */
  async append(from: number, length: number): Promise<number> {
    let done = this.end % BLOCK === 0 && length >= BLOCK ? await this.share(from, length) : 0;
    while (done < length) {
      const slice = Math.min(LIMITS.copySliceBytes, length - done);
      const copied = this.kernel.copySome({ from, fromOffset: done, to: this.to, toOffset: this.end + done, length: slice });
      if (copied === 0) break;
      done += copied;
      await yieldTurn();
    }
    this.end += done;
    return done;
  }

  /** Shares from the start on; returns how many bytes that were, 0 where the file systems can't. */
  private async share(from: number, length: number): Promise<number> {
    const pair = `${fstatSync(from).dev}:${fstatSync(this.to).dev}`;
    const refused = refusals.get(pair) ?? 0;
    if (refused >= ENOUGH_REFUSALS) return 0;
    // Only what is on disk can be shared. The kernel would write the rest within the call, for up to a second, and nobody else were served.
    if (length >= LARGE) await flush(from);
    // All of it, where the end may lie between blocks since it is the end of both files; else all whole blocks.
    for (const size of new Set([length, length - (length % BLOCK)])) {
      if (!this.kernel.cloneRange({ from, fromOffset: 0, to: this.to, toOffset: this.end, length: size })) continue;
      refusals.delete(pair);
      return size;
    }
    if (refusals.size >= MAX_PAIRS) refusals.clear();
    refusals.set(pair, refused + 1);
    return 0;
  }
}
