import { KernelError } from "@boxyard/core/errno";
import { errno, libc, ptr } from "./libc.ts";

/*
 * Copies inside the kernel: shared extents where the file system can, else copy_file_range(2), else sendfile(2). Bytes never enter user space.
 * The caller bounds the length of a call, and lets other requests run between calls.
 */

/** `_IOW(0x94, 13, struct file_clone_range)`, equal on x86-64 and arm64. */
const FICLONERANGE = 0x4020940d;
const EINTR = 4;
/** Errors that say that the call does not work for these files or offsets, and another may. */
const CANT_CLONE = new Set([1, 16, 18, 22, 25, 26, 38, 95]);
const CANT_COPY = new Set([1, 18, 22, 38, 95]);

/** A range of one file, and where it goes in another. */
export interface Piece {
  readonly from: number;
  readonly fromOffset: number;
  readonly to: number;
  readonly toOffset: number;
  readonly length: number;
}

/** Shares the piece's extents. False where the file systems, offsets or length don't allow it; nothing is written then. Throws on a full disk. */
export function cloneRange(piece: Piece): boolean {
  const argument = new BigInt64Array([BigInt(piece.from), BigInt(piece.fromOffset), BigInt(piece.length), BigInt(piece.toOffset)]);
  if (libc().ioctl(piece.to, FICLONERANGE, ptr(argument)) === 0) return true;
  const number = errno();
  if (CANT_CLONE.has(number)) return false;
  throw new KernelError("FICLONERANGE", number);
}

/** Copies up to `length` bytes; returns how many. 0 means that the source has no more. */
export function copySome(piece: Piece): number {
  const fromOffset = new BigInt64Array([BigInt(piece.fromOffset)]);
  const toOffset = new BigInt64Array([BigInt(piece.toOffset)]);
  for (;;) {
    const copied = Number(libc().copy_file_range(piece.from, ptr(fromOffset), piece.to, ptr(toOffset), piece.length, 0));
    if (copied >= 0) return copied;
    const number = errno();
    if (number === EINTR) continue;
    if (CANT_COPY.has(number)) return sendSome(piece);
    throw new KernelError("copy_file_range", number);
  }
}

/** As `copySome`, by sendfile(2), between file systems that do not support copy_file_range(2) with each other. */
function sendSome(piece: Piece): number {
  // sendfile writes at the target's own position.
  if (Number(libc().lseek(piece.to, piece.toOffset, 0)) < 0) throw new KernelError("lseek", errno());
  const fromOffset = new BigInt64Array([BigInt(piece.fromOffset)]);
  for (;;) {
    const copied = Number(libc().sendfile(piece.to, piece.from, ptr(fromOffset), piece.length));
    if (copied >= 0) return copied;
    const number = errno();
    if (number !== EINTR) throw new KernelError("sendfile", number);
  }
}

/** Copies a small file at once. */
export function copyWhole(from: number, to: number, length: number): void {
  for (let done = 0; done < length; ) {
    const copied = copySome({ from, fromOffset: done, to, toOffset: done, length: length - done });
    if (copied === 0) return;
    done += copied;
  }
}
