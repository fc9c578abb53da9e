import { spawnSync } from "node:child_process";

/**
 * Tells ext4 to put each directory that is made in this one into a part of the disk of its own (chattr(1), `T`). ext4 does not use the inode of a
 * removed file again for some minutes: it looks at each such inode of a directory's part of the disk for every new file. Tests remove
 * so many files that a new one took up to 0.5 ms of CPU time, instead of 0.02 ms. Other file systems refuse, and do not need it.
 */
export function spreadDirectories(path: string): void {
  spawnSync("chattr", ["+T", path], { stdio: "ignore" });
}
