import { unlinkAt } from "../sys/at.ts";
import { snapshotSubvolume } from "../sys/btrfs.ts";
import { withDirectory } from "../sys/libc.ts";

/** The only file of a seed (`InodeSeeds`). */
export const HOLD = "hold";

/** Makes the empty subvolume `parent/name`, whose inode numbers begin above those of the seed at path `seed`. */
export function createFromSeed(seed: string, parent: string, name: string): void {
  snapshotSubvolume(seed, parent, name);
  dropHold(`${parent}/${name}`);
}

/** Removes the only file of a snapshot of a seed. The kernel remembers the subvolume's next number for as long as it is mounted. */
export function dropHold(path: string): void {
  withDirectory(path, (fd) => unlinkAt(fd, HOLD));
}
