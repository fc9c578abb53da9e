import { fdatasync, fstatSync } from "node:fs";
import { LIMITS } from "../limits.ts";
import { cloneRange, copySome } from "../sys/copy.ts";

/** Smallest unit that file systems share: 4 KiB on all common ones. On another the data is copied. */
const BLOCK = 4096;
/** Files from this size on are flushed before they are shared. */
const LARGE = 1024 * 1024;

const yieldTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** How often in a row sharing extents failed between two devices. */
const refusals = new Map<string, number>();
/** After so many failures sharing is not tried again for the pair: each attempt must first flush the data, which a plain copy need not. */
const ENOUGH_REFUSALS = 3;
/** Far more pairs than a sandbox has. When there are more, all counts are forgotten. */
const MAX_PAIRS = 256;

/** Flushes a file's data. A failure is ignored: the copy is correct without it. */
function flush(fd: number): Promise<void> {
  return new Promise((resolve) => fdatasync(fd, () => resolve()));
}

/** The two system calls, replaced in tests. */
const KERNEL = { cloneRange, copySome };

/** Appends files to a file that is empty at first. */
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

  /** Shares extents from the start of `from` on. Returns how many bytes; 0 where the file systems cannot share. */
  private async share(from: number, length: number): Promise<number> {
    const pair = `${fstatSync(from).dev}:${fstatSync(this.to).dev}`;
    const refused = refusals.get(pair) ?? 0;
    if (refused >= ENOUGH_REFUSALS) return 0;
    // Only data on disk can be shared. The kernel would flush the rest within the call, for up to a second, in which no request is served.
    if (length >= LARGE) await flush(from);
    // The whole length first, which may end within a block where that is the end of both files; else all whole blocks.
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
