import { statfs } from "node:fs/promises";

const MIB = 2 ** 20;
const GIB = 2 ** 30;

/** Free bytes of a disk of so many bytes that sandboxes leave by default (`BOXYARD_RESERVE_DISK`): a fiftieth of it, 512 MiB to 8 GiB. */
export const usualReserve = (diskBytes: number): number => Math.min(Math.max(diskBytes / 50, 512 * MIB), 8 * GIB);

/**
 * Free bytes of a disk of so many bytes that recordings leave: half as much again as what sandboxes leave (`reserveBytes`, or the default), so that recordings alone
 * never make the machine pause the growth of sandboxes. A whole number.
 */
export function freeForOthers(diskBytes: number, reserveBytes = usualReserve(diskBytes)): number {
  return Math.floor(Math.min(reserveBytes * 1.5, diskBytes / 2));
}

/** Whether so many bytes may be written to the disk that holds `path`. Throws where the disk cannot be asked. */
export async function hasRoom(path: string, bytes: number, reserveBytes?: number): Promise<boolean> {
  const { bavail, blocks, bsize } = await statfs(path);
  return bavail * bsize - bytes >= freeForOthers(blocks * bsize, reserveBytes);
}
