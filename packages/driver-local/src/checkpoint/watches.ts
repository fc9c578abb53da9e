import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { inodePaths } from "../sys/btrfs.ts";
import { hasErrno } from "../sys/libc.ts";

/** A subvolume with files of a sandbox, and the directory in it that is shown as the sandbox's root. */
export interface Tree {
  readonly subvolume: string;
  /** `""` or `"upper/"`. */
  readonly prefix: string;
}

/**
 * Paths, inside the sandbox, of the files that its processes watch by inotify. CRIU cannot find these paths itself, because file handles of an overlay
 * cannot be opened: it needs them as options. The kernel shows the inode number of each file, which belongs to the upper directory's subvolume or to
 * one layer; their ranges of numbers do not overlap. Paths that are not UTF-8 are left out.
 */
export function watchedPaths(pids: readonly number[], trees: readonly Tree[]): string[] {
  const inodes = new Set(pids.flatMap(watchedInodes));
  return [...inodes].flatMap((inode) => pathIn(trees, inode) ?? []);
}

function watchedInodes(pid: number): bigint[] {
  const directory = `/proc/${pid}`;
  return ignoringEnded(() => readdirSync(`${directory}/fd`), []).flatMap((fd) => {
    const isInotify = ignoringEnded(() => readlinkSync(`${directory}/fd/${fd}`), "").includes("inotify");
    const info = isInotify ? ignoringEnded(() => readFileSync(`${directory}/fdinfo/${fd}`, "utf8"), "") : "";
    return [...info.matchAll(/^inotify wd:\S+ ino:([0-9a-f]+) /gm)].map((match) => BigInt(`0x${match[1]}`));
  });
}

function pathIn(trees: readonly Tree[], inode: bigint): string | undefined {
  for (const { subvolume, prefix } of trees) {
    for (const bytes of inodePaths(subvolume, inode)) {
      const path = Buffer.from(bytes, "latin1").toString("utf8");
      if (`${path}/`.startsWith(prefix) && !path.includes("\uFFFD")) return `/${path.slice(prefix.length)}`;
    }
  }
  return undefined;
}

/** The result of `work`, or `fallback` when the process or its descriptor is gone. */
function ignoringEnded<T>(work: () => T, fallback: T): T {
  try {
    return work();
  } catch (error) {
    if (hasErrno(error, "ENOENT", "ESRCH")) return fallback;
    throw error;
  }
}
