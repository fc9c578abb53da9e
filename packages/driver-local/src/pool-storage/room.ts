import { existsSync, readFileSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { PoolRoom } from "../parts.ts";
import { diskReserve, poolReserve, type Reserve } from "../reserve-for-machine.ts";
import { filesystemId } from "../sys/btrfs.ts";
import { poolPaths } from "./paths.ts";

const SECTOR = 512;
/** An image of which so much is on the disk takes no more of it. */
const ALLOCATED = 0.98;

/**
 * What may be written to the pool before it, or the disk below it, is down to its reserve. Data that the kernel has taken and not yet
 * written counts as written.
 */
export function roomIn(dataDir: string, reserve: Reserve): PoolRoom {
  const { root, image } = poolPaths(dataDir);
  const pool = statfsSync(root);
  const size = pool.blocks * pool.bsize;
  const free = pool.bavail * pool.bsize - underWay(root) - poolReserve(size, reserve);
  return { diskLimitBytes: size, diskFreeBytes: Math.max(0, Math.min(free, roomBelow(image, reserve))) };
}

/** Of the disk that holds the image. */
function roomBelow(image: string, reserve: Reserve): number {
  const { size, blocks } = statSync(image);
  if (blocks * SECTOR > size * ALLOCATED) return Number.POSITIVE_INFINITY;
  const disk = statfsSync(dirname(image));
  return disk.bavail * disk.bsize - diskReserve(disk.blocks * disk.bsize, reserve);
}

function underWay(root: string): number {
  const file = `/sys/fs/btrfs/${filesystemId(root)}/allocation/data/bytes_may_use`;
  return existsSync(file) ? Number(readFileSync(file, "utf8")) : 0;
}
