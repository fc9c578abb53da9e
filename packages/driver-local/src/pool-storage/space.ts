import { existsSync, readFileSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";

const SECTOR = 512;
/** An image of which so much is on the disk takes no more of it. */
const ALLOCATED = 0.98;
/** Share of the disk's reserve that the pool leaves to the disk's other users, whatever it has of that disk already. */
export const LEFT = 0.25;

/** What btrfs has given to data, bytes. */
interface DataSpace {
  readonly totalBytes: number;
  /** Written, being written, freed but not given back before the next commit, or promised to what is in memory. */
  readonly takenBytes: number;
  /** The last of these alone. */
  readonly promisedBytes: number;
}

/** The pool's file and the disk below it, as they are now. */
export interface PoolSpace {
  /** Free on the disk below the pool. */
  readonly hostFreeBytes: number;
  readonly hostBytes: number;
  readonly imageBytes: number;
  /** Blocks of the pool's file that are on that disk. */
  readonly allocatedBytes: number;
  readonly data: DataSpace;
  /** What btrfs keeps its own trees in. */
  readonly treesBytes: number;
}

/** Reads the kernel's figures. `filesystem`: the directory of the pool's btrfs below /sys/fs/btrfs. */
export function spaceOf(image: string, filesystem: string): PoolSpace {
  const { bavail, blocks, bsize } = statfsSync(dirname(image));
  // Deleted while it is mounted: its figures cannot be read, and it gets no blocks ahead, for that would make another file of its name.
  const { size, blocks: sectors } = statSync(image, { throwIfNoEntry: false }) ?? { size: 0, blocks: 1 };
  return {
    hostFreeBytes: bavail * bsize,
    hostBytes: blocks * bsize,
    imageBytes: size,
    allocatedBytes: sectors * SECTOR,
    data: dataIn(filesystem),
    treesBytes: bytesOf(filesystem, "metadata", "total_bytes") + bytesOf(filesystem, "system", "total_bytes"),
  };
}

/** True when the image has its blocks: what happens on the disk below it does not matter then. */
export function isAllocated({ allocatedBytes, imageBytes }: PoolSpace): boolean {
  return allocatedBytes > imageBytes * ALLOCATED;
}

/** Blocks that the pool has on the disk below it and that hold nothing yet: what sandboxes write there takes none of that disk. */
export function allocatedAhead({ allocatedBytes, data, treesBytes }: PoolSpace): number {
  return Math.max(0, allocatedBytes - treesBytes - data.takenBytes);
}

function dataIn(filesystem: string): DataSpace {
  const promisedBytes = bytesOf(filesystem, "data", "bytes_may_use");
  const taken = ["bytes_used", "bytes_reserved", "bytes_pinned"].map((name) => bytesOf(filesystem, "data", name));
  const takenBytes = taken.reduce((sum, bytes) => sum + bytes, promisedBytes);
  return { totalBytes: bytesOf(filesystem, "data", "total_bytes"), takenBytes, promisedBytes };
}

function bytesOf(filesystem: string, kind: "data" | "metadata" | "system", name: string): number {
  const file = `${filesystem}/allocation/${kind}/${name}`;
  return existsSync(file) ? Number(readFileSync(file, "utf8")) : 0;
}
