import { basename, dirname } from "node:path";
import { directoriesIn, openAt, rmdirAt } from "../sys/at.ts";
import { close, hasErrno, O, open } from "../sys/libc.ts";

/** Deeper than `cgroup.max.depth` lets a sandbox go. */
const MAX_REMOVE_DEPTH = 16;

/** Removes a cgroup with all below it. False when one of them is still busy. */
export function removeTree(directory: string): boolean {
  let parent: number;
  try {
    parent = open(dirname(directory), O.RDONLY | O.DIRECTORY);
  } catch (error) {
    if (hasErrno(error, "ENOENT")) return true;
    throw error;
  }
  try {
    return removeGroup(parent, basename(directory));
  } finally {
    close(parent);
  }
}

/** Works with names as bytes, from directory to directory: a sandbox may give its groups names that are not valid UTF-8. */
function removeGroup(parent: number, name: string, depth = 0): boolean {
  try {
    rmdirAt(parent, name);
    return true;
  } catch (error) {
    if (hasErrno(error, "ENOENT")) return true;
    if (!hasErrno(error, "EBUSY", "ENOTEMPTY") || depth > MAX_REMOVE_DEPTH) throw error;
  }
  try {
    const directory = openAt(parent, name, O.RDONLY | O.DIRECTORY);
    let empty = true;
    try {
      // Only directories are groups; the rest are files of the kernel, which disappear with their directory.
      for (const child of directoriesIn(directory)) empty = removeGroup(directory, child, depth + 1) && empty;
    } finally {
      close(directory);
    }
    if (empty) rmdirAt(parent, name);
    return empty;
  } catch (error) {
    if (hasErrno(error, "ENOENT")) return true;
    if (hasErrno(error, "EBUSY", "ENOTEMPTY")) return false;
    throw error;
  }
}
