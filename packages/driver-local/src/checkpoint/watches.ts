import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { inodePaths } from "../sys/btrfs.ts";
import { hasErrno } from "../sys/libc.ts";

/** A subvolume that a sandbox's files are in, and the directory of it that is the sandbox's root. */
export interface Tree {
  readonly subvolume: string;
  /** `""` or `"upper/"`. */
  readonly prefix: string;
}

/**
 * Paths, inside the sandbox, of what its processes watch by inotify. CRIU can't find them by itself, because an overlay's file handles
 * can't be opened: it has to be told where to look. The number that the kernel tells is that of the upper directory's subvolume or of one
 * layer, whose ranges do not overlap. Paths that are not UTF-8 are left out.
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

function ignoringEnded<T>(work: () => T, otherwise: T): T {
  try {
    return work();
  } catch (error) {
    if (hasErrno(error, "ENOENT", "ESRCH")) return otherwise;
    throw error;
  }
}
