import { fstatSync, ftruncateSync } from "node:fs";
import { KernelError } from "@boxyard/core/errno";
import { Appender } from "../compose/append.ts";
import { LIMITS } from "../limits.ts";
import { copySome } from "../sys/copy.ts";
import { errno, libc } from "../sys/libc.ts";
import type { TimeSlice } from "../time-slice.ts";

const SEEK_DATA = 3;
const SEEK_HOLE = 4;
/** No data from here on. */
const ENXIO = 6;
const EINVAL = 22;
/** Unit of a file's `blocks`. */
const BLOCK = 512;

/** Size of a file in bytes, and the blocks of 512 bytes that it occupies on the disk. */
interface Extent {
  readonly size: number;
  readonly blocks: number;
}

/** Copies a file's content to an empty file. Holes stay holes. A source that has become shorter is copied to its end. Throws the kernel's error. */
export async function copyData(from: number, to: number, { size, blocks }: Extent, slice: TimeSlice, find = seek): Promise<void> {
  if (size === 0) return;
  if (blocks * BLOCK >= size) return void (await new Appender(to).append(from, size));
  // Never backward: a file system that a program of the sandbox serves may return any offset.
  const next = (at: number) => Math.max(at, find(from, at, SEEK_DATA) ?? size);
  for (let at = next(0); at < size; at = next(at)) {
    const hole = find(from, at, SEEK_HOLE) ?? size;
    const end = hole > at ? Math.min(hole, size) : size;
    while (at < end) {
      const copied = copySome({ from, fromOffset: at, to, toOffset: at, length: Math.min(LIMITS.copySliceBytes, end - at) });
      if (copied === 0) return;
      at += copied;
      const turn = slice.turn();
      if (turn) await turn;
    }
  }
  // A hole at the end.
  ftruncateSync(to, Math.min(size, fstatSync(from).size));
}

/** Offset of the next data or hole; undefined when there is none. A file system without holes reports everything as data. */
function seek(fd: number, at: number, what: typeof SEEK_DATA | typeof SEEK_HOLE): number | undefined {
  const found = Number(libc().lseek(fd, at, what));
  if (found >= 0) return found;
  const number = errno();
  if (number === ENXIO) return undefined;
  if (number === EINVAL) return what === SEEK_DATA ? at : undefined;
  throw new KernelError("lseek", number);
}
