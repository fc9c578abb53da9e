import { closeSync, existsSync, fsyncSync, ftruncateSync, openSync, renameSync, rmSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { AppError } from "@boxyard/core";
import { runCommand } from "../sys/run.ts";

const GIB = 1024 ** 3;
/** A smaller pool can hold the base template, but hardly a sandbox as well. */
export const MIN_POOL_BYTES = 4 * GIB;
/** Share of the free disk that the pool may grow to when no size is set. Its file is sparse: it takes only what is written. */
const SHARE_OF_FREE = 0.6;

/** Bytes that may still be written at `path` (the path or its nearest existing parent). */
export function freeBytes(path: string): number {
  const existing = existsSync(path) ? path : dirname(path);
  const { bavail, bsize } = statfsSync(existing);
  return bavail * bsize;
}

/** Size of the pool's file in bytes: `configured`, else a share of the free disk in whole GiB. Too little disk is `resource_exhausted`. */
export function poolSize(freeBytesNow: number, configured?: number): number {
  if (configured !== undefined) {
    if (configured >= MIN_POOL_BYTES) return Math.floor(configured / 4096) * 4096;
    throw new AppError("invalid_argument", `BOXYARD_POOL_SIZE is below the least that makes sense (${MIN_POOL_BYTES / GIB} GiB)`, {
      reason: "pool_too_small",
    });
  }
  const share = Math.floor((freeBytesNow * SHARE_OF_FREE) / GIB) * GIB;
  if (share >= MIN_POOL_BYTES) return share;
  const have = (freeBytesNow / GIB).toFixed(1);
  throw new AppError("resource_exhausted", `only ${have} GiB of disk are free; make room, or put BOXYARD_DATA on a larger disk (8 GiB)`, {
    reason: "disk_full",
  });
}

/** Makes a sparse file with an empty btrfs in it. Made under another name and renamed, so that a file of this name is always complete. */
export async function makePoolImage(image: string, sizeBytes: number): Promise<void> {
  const aside = `${image}.new`;
  rmSync(aside, { force: true });
  const fd = openSync(aside, "wx", 0o600);
  try {
    ftruncateSync(fd, sizeBytes);
    // One copy of the metadata: redundancy is the job of the disk below the file, and a second copy only doubles the writes.
    await runCommand(["mkfs.btrfs", "-q", "-L", "boxyard", "-m", "single", "-d", "single", aside]);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(aside, image);
}
