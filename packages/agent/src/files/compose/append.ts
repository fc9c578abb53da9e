import { LIMITS } from "../limits.ts";
import { cloneRange, copySome } from "../sys/copy.ts";

/** Smallest unit that file systems share. 4 KiB on every file system we know with blocks; a wrong guess only means a copy. */
const BLOCK = 4096;

const yieldTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/**
 * Appends `length` bytes of `from` to `to`, which ends at `toOffset`, without bringing them to user space: extents are shared when the
 * place is block-aligned, otherwise the kernel copies in slices, between which other requests are served. Throws the kernel's error, and an
 * `Error` when the source has become shorter.
 */
export async function appendRange(from: number, to: number, toOffset: number, length: number): Promise<void> {
  let done = cloneFront(from, to, toOffset, length);
  while (done < length) {
    const slice = Math.min(LIMITS.copySliceBytes, length - done);
    const copied = copySome({ from, fromOffset: done, to, toOffset: toOffset + done, length: slice });
    if (copied === 0) throw new Error("source became shorter");
    done += copied;
    await yieldTurn();
  }
}

/** Shares what can be shared; returns how many bytes that was. The whole of it where its end may be unaligned, as at the end of both files. */
function cloneFront(from: number, to: number, toOffset: number, length: number): number {
  if (toOffset % BLOCK !== 0 || length < BLOCK) return 0;
  for (const size of new Set([length, length - (length % BLOCK)])) {
    if (cloneRange({ from, fromOffset: 0, to, toOffset, length: size })) return size;
  }
  return 0;
}
