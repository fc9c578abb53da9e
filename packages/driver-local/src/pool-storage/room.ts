import { existsSync, readFileSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { PoolRoom } from "../parts.ts";
import { diskReserve, poolReserve, type Reserve } from "../reserve-for-machine.ts";
import { filesystemId } from "../sys/btrfs.ts";
import { isReadOnly } from "./mount.ts";
import { poolPaths } from "./paths.ts";

const SECTOR = 512;
const BTRFS_ROOT_INODE = 256;
/** An image of which so much is on the disk takes no more of it. */
const ALLOCATED = 0.98;
/** Shares of the reserve that are still free above it when growth is paused, and when it goes on (more, or it would stop and go with every file). */
const PAUSE = 0.125;
const RESUME = 0.375;

/** How much the pool may grow. */
export interface Growth {
  /** What may be written before the pool, or the disk below it, is down to its reserve. Negative below that. */
  readonly bytes: number;
  /** Growth is paused when it is less than this, */
  readonly pauseBytes: number;
  /** and goes on when it is at least this. */
  readonly resumeBytes: number;
  readonly reserveBytes: number;
  /** Which of the two is the shorter. */
  readonly what: "pool_full" | "host_disk_full" | "pool_read_only";
}

/** A pool that could not be mounted anew takes no writes either. Data that the kernel has taken and not yet written counts as written. */
export function growthIn(dataDir: string, reserve: Reserve): Growth {
  const { root, image } = poolPaths(dataDir);
  if (!isMounted(root) || isReadOnly(root)) return { what: "pool_read_only", bytes: 0, pauseBytes: 1, resumeBytes: 1, reserveBytes: 0 };
  const pool = statfsSync(root);
  const ofPool = growth("pool_full", pool.bavail * pool.bsize - underWay(root), poolReserve(pool.blocks * pool.bsize, reserve));
  if (isAllocated(image)) return ofPool;
  const disk = statfsSync(dirname(image));
  const ofDisk = growth("host_disk_full", disk.bavail * disk.bsize, diskReserve(disk.blocks * disk.bsize, reserve));
  return ofDisk.bytes - ofDisk.resumeBytes < ofPool.bytes - ofPool.resumeBytes ? ofDisk : ofPool;
}

export function roomIn(dataDir: string, reserve: Reserve): PoolRoom {
  const { blocks, bsize } = statfsSync(poolPaths(dataDir).root);
  return { diskLimitBytes: blocks * bsize, diskFreeBytes: Math.max(0, growthIn(dataDir, reserve).bytes) };
}

/** True when it is the root of a btrfs, as a mounted pool is. Asked many times a second, so without a look at all mounts of the machine. */
function isMounted(root: string): boolean {
  return statSync(root).ino === BTRFS_ROOT_INODE;
}

/** True when the image has its blocks: what happens on the disk below it does not matter then. */
function isAllocated(image: string): boolean {
  const { size, blocks } = statSync(image);
  return blocks * SECTOR > size * ALLOCATED;
}

function growth(what: Growth["what"], freeBytes: number, reserveBytes: number): Growth {
  return { what, bytes: freeBytes - reserveBytes, pauseBytes: reserveBytes * PAUSE, resumeBytes: reserveBytes * RESUME, reserveBytes };
}

function underWay(root: string): number {
  const file = `/sys/fs/btrfs/${filesystemId(root)}/allocation/data/bytes_may_use`;
  return existsSync(file) ? Number(readFileSync(file, "utf8")) : 0;
}
