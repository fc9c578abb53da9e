import { statfs } from "node:fs/promises";

const MIB = 2 ** 20;
const GIB = 2 ** 30;

/**
 * Free bytes of a disk of so many bytes that recordings leave: half as much again as what sandboxes leave (`BOXYARD_RESERVE_DISK`, by default a fiftieth of the disk,
 * 512 MiB to 8 GiB), so that recordings alone never make the machine pause the growth of sandboxes. A whole number.
 */
export function freeForOthers(diskBytes: number, reserveBytes?: number): number {
  const reserve = reserveBytes ?? Math.min(Math.max(diskBytes / 50, 512 * MIB), 8 * GIB);
  return Math.floor(Math.min(reserve * 1.5, diskBytes / 2));
}

/** Whether so many bytes may be written to the disk that holds `path`. Throws where the disk cannot be asked. */
export async function hasRoom(path: string, bytes: number, reserveBytes?: number): Promise<boolean> {
  const { bavail, blocks, bsize } = await statfs(path);
  return bavail * bsize - bytes >= freeForOthers(blocks * bsize, reserveBytes);
}
