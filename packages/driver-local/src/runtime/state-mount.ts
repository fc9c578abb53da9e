import { mkdirSync, rmSync } from "node:fs";
import { MS, mount, umount2 } from "../sys/libc.ts";
import { isMountPoint } from "../sys/mount-points.ts";

/** A bound, not a reserve: a sandbox's files take 40 KiB. */
const OPTIONS = "mode=700,size=1g";

/**
 * Where the runtimes of a data directory have what ends with the boot anyway: bundles and their own state. A file system in memory, because a
 * create makes eight files and more there that the removal takes away again, and ext4 looks at each number of a file removed in the last minutes before
 * it takes a free one: with sandboxes coming and going that was a third of crun's CPU.
 */
export const runtimeStateIn = (dataDir: string): string => `${dataDir}/run/runtime`;

/** Repeatable. What lies in its place is of an earlier version, and of no use: the runtime is not asked about a sandbox that has started. */
export function mountRuntimeState(dataDir: string): void {
  const path = runtimeStateIn(dataDir);
  if (isMountPoint(path)) return;
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true, mode: 0o700 });
  mount("tmpfs", path, "tmpfs", MS.NOSUID | MS.NODEV | MS.NOEXEC, OPTIONS);
}

/** Repeatable. */
export function unmountRuntimeState(dataDir: string): void {
  const path = runtimeStateIn(dataDir);
  if (isMountPoint(path)) umount2(path);
}
