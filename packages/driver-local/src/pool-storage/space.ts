import { readFileSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { hasErrno } from "../sys/libc.ts";

const SECTOR = 512;
/** An image with more than this share of its blocks allocated counts as fully allocated. */
const ALLOCATED = 0.98;
/** Share of the disk's reserve that the pool leaves to the other users of the disk, however many blocks it has already. */
export const LEFT = 0.25;

/** The data chunks of a btrfs, bytes. */
interface DataSpace {
  readonly totalBytes: number;
  /** Written, being written, freed but pinned until the next commit, or reserved for data in memory. */
  readonly takenBytes: number;
  /** Reserved for data in memory. */
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
  /** The chunks of btrfs's own trees. */
  readonly treesBytes: number;
}

/** Reads the kernel's figures. `filesystem`: the directory of the pool's btrfs below /sys/fs/btrfs. */
export function spaceOf(image: string, filesystem: string): PoolSpace {
  const { bavail, blocks, bsize } = statfsSync(dirname(image));
  // A file that was deleted while it is mounted cannot be examined. It counts as fully allocated, so that no blocks are allocated ahead for it.
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

/** True when the image has all its blocks: then it does not matter when the disk below it is full. */
export function isAllocated({ allocatedBytes, imageBytes }: PoolSpace): boolean {
  return allocatedBytes > imageBytes * ALLOCATED;
}

/** Bytes of the pool that are allocated on the disk below it and hold no data yet: writes there need no more of that disk. */
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
  try {
    return Number(readFileSync(file, "utf8"));
  } catch (error) {
    if (hasErrno(error, "ENOENT")) return 0;
    throw error;
  }
}
