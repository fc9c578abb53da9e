import { statfsSync } from "node:fs";
import type { PoolRoom } from "../parts.ts";
import { diskReserve, poolAhead, poolReserve, type Reserve } from "../reserve-for-machine.ts";
import { filesystemId } from "../sys/btrfs.ts";
import { isMountedAt, isReadOnly } from "./mount.ts";
import { poolPaths } from "./paths.ts";
import { allocatedAhead, isAllocated, LEFT, type PoolSpace, spaceOf } from "./space.ts";

/** Growth is paused and resumed at these shares of the reserve above it. RESUME is larger, or growth would stop and go with every file. */
const PAUSE = 0.125;
const RESUME = 0.375;

/** How much the pool may grow. */
export interface Growth {
  /** Bytes that may be written before the pool, or the disk below it, is down to its reserve. Negative below that. */
  readonly bytes: number;
  /** Growth is paused when `bytes` is less than this. */
  readonly pauseBytes: number;
  /** Growth is resumed when `bytes` is at least this. */
  readonly resumeBytes: number;
  readonly reserveBytes: number;
  /** Whether the pool or the disk below it has less room, or the pool is read-only. */
  readonly what: "pool_full" | "host_disk_full" | "pool_read_only";
}

/** Bytes of the pool that are allocated on the disk below it and hold no data yet. The pool must be mounted. */
export function aheadIn(dataDir: string): number {
  const { root, image } = poolPaths(dataDir);
  return allocatedAhead(spaceOf(image, `/sys/fs/btrfs/${filesystemId(root)}`));
}

/** A pool that is not mounted counts as read-only. Data in the page cache counts as written. */
export function growthIn(dataDir: string, reserve: Reserve): Growth {
  const { root, image } = poolPaths(dataDir);
  if (!isMountedAt(root) || isReadOnly(root)) return { what: "pool_read_only", bytes: 0, pauseBytes: 1, resumeBytes: 1, reserveBytes: 0 };
  const pool = statfsSync(root);
  const space = spaceOf(image, `/sys/fs/btrfs/${filesystemId(root)}`);
  const underWay = space.data.promisedBytes;
  const ofPool = growth("pool_full", pool.bavail * pool.bsize - underWay, poolReserve(pool.blocks * pool.bsize, reserve));
  if (isAllocated(space)) return ofPool;
  const reserveBytes = diskReserve(space.hostBytes, reserve);
  const ofDisk = growth("host_disk_full", usableOfDisk(space, reserveBytes, poolAhead(space.hostBytes, reserve)), reserveBytes);
  return ofDisk.bytes - ofDisk.resumeBytes < ofPool.bytes - ofPool.resumeBytes ? ofDisk : ofPool;
}

/** Free space of the disk, and the blocks that the pool already has there: sandboxes may fill these when other programs have filled the disk. */
function usableOfDisk(space: PoolSpace, reserveBytes: number, aheadBytes: number): number {
  if (aheadBytes === 0) return space.hostFreeBytes;
  // Blocks elsewhere in the file, left from earlier, are not where btrfs writes next.
  const ahead = Math.min(allocatedAhead(space), space.data.totalBytes - space.data.takenBytes + aheadBytes);
  const usable = space.hostFreeBytes + ahead;
  const isAllAllocated = ahead >= space.data.totalBytes - space.data.takenBytes;
  // btrfs may write next to a place that has no blocks yet.
  return isAllAllocated ? usable : Math.min(usable, space.hostFreeBytes + reserveBytes * (1 - LEFT));
}

export function roomIn(dataDir: string, reserve: Reserve): PoolRoom {
  const { blocks, bsize } = statfsSync(poolPaths(dataDir).root);
  return { diskLimitBytes: blocks * bsize, diskFreeBytes: Math.max(0, growthIn(dataDir, reserve).bytes) };
}

function growth(what: Growth["what"], freeBytes: number, reserveBytes: number): Growth {
  return { what, bytes: freeBytes - reserveBytes, pauseBytes: reserveBytes * PAUSE, resumeBytes: reserveBytes * RESUME, reserveBytes };
}
