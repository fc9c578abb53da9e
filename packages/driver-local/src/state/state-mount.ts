import { mkdirSync, rmSync } from "node:fs";
import { MS, mount, umount2 } from "../sys/libc.ts";
import { isMountPoint } from "../sys/mount-points.ts";

/** A bound, not a reserve: a sandbox's files take 40 KiB. */
const OPTIONS = "mode=700,size=1g";

/**
 * Where the runtimes of a data directory keep what ends with the boot: bundles and their own state. It is a file system in memory, because a create
 * makes eight or more files there, which the removal deletes again. ext4 skips, one by one, the inode numbers of files deleted in the last minutes
 * when it makes a file: with many creates and removals that took a third of crun's CPU time.
 */
export const runtimeStateIn = (dataDir: string): string => `${dataDir}/run/runtime`;

/**
 * Mounts it. Repeatable. Removes what an earlier version has left in its place: nothing needs it, because the runtime is not asked about a sandbox
 * that has started.
 */
export function mountRuntimeState(dataDir: string): void {
  const path = runtimeStateIn(dataDir);
  if (isMountPoint(path)) return;
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true, mode: 0o700 });
  mount("tmpfs", path, "tmpfs", MS.NOSUID | MS.NODEV | MS.NOEXEC, OPTIONS);
}

/** Unmounts it. Repeatable. */
export function unmountRuntimeState(dataDir: string): void {
  const path = runtimeStateIn(dataDir);
  if (isMountPoint(path)) umount2(path);
}
