import { constants, openSync, readdirSync, rmdirSync, unlinkSync } from "node:fs";
import { LIMITS } from "../limits.ts";
import { PinnedDir } from "../path/pinned-dir.ts";
import { errnoOf } from "../sys/errno.ts";
import { TimeSlice } from "../time-slice.ts";

/** Opens a directory, and no link to one. */
const NO_LINK = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Attempts to empty a tree that programs change meanwhile. */
const ATTEMPTS = 5;

/** Bytes where the name may not be UTF-8. */
type Name = string | Buffer;

/** A directory that is being emptied. */
interface Level {
  /** Its name in the level above. */
  readonly name: Name;
  /** Names in it that are still to be removed. */
  names: Name[];
  /** Undefined while it is closed, because more than `removeDepth` levels below it are open. */
  dir: PinnedDir | undefined;
  /** Set when the directory is closed, to recognise it when it is opened again. */
  identity?: string;
}

/**
 * Removes an entry of a directory with everything below it, to any depth. Directories are held by descriptor and links are never followed, so that
 * exchanging a directory for a link meanwhile leads nowhere else. A missing entry is no error. Throws the kernel's error.
 */
export async function removeTree(parent: PinnedDir, name: Name): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    if (isUnlinked(parent, name)) return;
    const root = openDir(parent, name);
    if (root) await empty(root, name);
    if (isRemoved(parent, name, attempt >= ATTEMPTS)) return;
  }
}

/** Removes everything below a directory, and closes it. Entries that were made or exchanged meanwhile may be left. */
async function empty(root: PinnedDir, name: Name): Promise<void> {
  const slice = new TimeSlice();
  const levels: Level[] = [];
  try {
    descend(levels, root, name);
    for (let level = levels.at(-1); level?.dir; level = levels.at(-1)) {
      const turn = slice.turn();
      if (turn) await turn;
      const child = level.names.pop();
      if (child === undefined) {
        if (!ascend(levels)) return;
      } else if (!isUnlinked(level.dir, child)) {
        const below = openDir(level.dir, child);
        if (below) descend(levels, below, child);
      }
    }
  } finally {
    for (const level of levels) level.dir?.close();
  }
}

/** Adds a level for a directory. Only the `removeDepth` lowest levels stay open, to bound the number of descriptors. */
function descend(levels: Level[], dir: PinnedDir, name: Name): void {
  const level: Level = { name, names: [], dir };
  levels.push(level);
  level.names = namesIn(dir);
  const far = levels.at(-1 - LIMITS.removeDepth);
  if (!far?.dir) return;
  far.identity = far.dir.identity();
  far.dir.close();
  far.dir = undefined;
}

/** Removes the emptied directory and returns to its parent. False at the top, and where its parent is now another directory. */
function ascend(levels: Level[]): boolean {
  const done = levels.at(-1);
  const above = levels.at(-2);
  if (!done?.dir || !above) return false;
  above.dir ??= openAbove(done.dir, above.identity);
  if (!above.dir) return false;
  levels.pop();
  done.dir.close();
  isRemoved(above.dir, done.name, false);
  return true;
}

/** Opens the parent of a directory if it has this identity; undefined if not: the directory was moved, and its new parent is not to be emptied. */
export function openAbove(dir: PinnedDir, identity: string | undefined): PinnedDir | undefined {
  const above = new PinnedDir(openSync(dir.at(".."), NO_LINK));
  if (above.identity() === identity) return above;
  above.close();
  return undefined;
}

/** Unlinks a name. True when it is gone, false when it is a directory. */
function isUnlinked(parent: PinnedDir, name: Name): boolean {
  try {
    unlinkSync(parent.at(name));
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return true;
    if (errnoOf(error) === "EISDIR") return false;
    throw error;
  }
}

/** Removes an empty directory. True when it is gone. One that is not empty, or no directory any more, is false, or an error if `throws`. */
function isRemoved(parent: PinnedDir, name: Name, throws: boolean): boolean {
  try {
    rmdirSync(parent.at(name));
    return true;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === "ENOENT") return true;
    if (!throws && (errno === "ENOTEMPTY" || errno === "ENOTDIR")) return false;
    throw error;
  }
}

/** Undefined when the name is gone or no directory any more. */
function openDir(parent: PinnedDir, name: Name): PinnedDir | undefined {
  try {
    return new PinnedDir(openSync(parent.at(name), NO_LINK));
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

/** Names in a directory; none when it was removed after it was opened. */
export function namesIn(dir: PinnedDir): Name[] {
  try {
    return readdirSync(`/proc/self/fd/${dir.fd}`, { encoding: "buffer" }) as Buffer[];
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}
