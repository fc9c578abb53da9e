import { constants, openSync, readdirSync, rmdirSync, unlinkSync } from "node:fs";
import { LIMITS } from "../limits.ts";
import { PinnedDir } from "../path/pinned-dir.ts";
import { errnoOf } from "../sys/errno.ts";
import { TimeSlice } from "../time-slice.ts";

/** A real directory and nothing that leads to one. */
const NO_LINK = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Looks into a tree again when somebody changed it while we emptied it. */
const ATTEMPTS = 5;

/** Names may be no text. */
type Name = string | Buffer;

/** A directory that is being emptied. */
interface Level {
  /** Its name in the level above. */
  readonly name: Name;
  /** Names in it that are still to be removed. */
  names: Name[];
  /** Closed while we are far below. */
  dir: PinnedDir | undefined;
  /** Set when it is closed: by it the directory is known again. */
  identity?: string;
}

/**
 * Removes a name from a directory with everything below it, however deep. Directories are held by descriptor and links are never followed,
 * so that exchanging a directory for a link while we work can't take us out of the tree. Missing is fine. Throws the kernel's error.
 */
export async function removeTree(parent: PinnedDir, name: Name): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    if (isUnlinked(parent, name)) return;
    const root = openDir(parent, name);
    if (root) await empty(root, name);
    if (isRemoved(parent, name, attempt >= ATTEMPTS)) return;
  }
}

/** Removes what is below a directory, and closes it. What others put there or exchanged meanwhile is left. */
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

/** Goes into a directory. Of a deep tree only the lowest levels stay open, so that descriptors stay few. */
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

/** Removes the emptied directory and goes back to the one above. False at the top, and where that one is no longer above. */
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

/** The directory above, if it is the one that we came from: somebody may have moved us elsewhere, where nothing is ours to remove. */
export function openAbove(dir: PinnedDir, identity: string | undefined): PinnedDir | undefined {
  const above = new PinnedDir(openSync(dir.at(".."), NO_LINK));
  if (above.identity() === identity) return above;
  above.close();
  return undefined;
}

/** True when the name is gone now, false when it is a directory. */
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

/** True when the directory is gone now, false when somebody put something there or exchanged it, unless that is to be an error. */
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

/** Undefined when it is gone or something else by now. */
function openDir(parent: PinnedDir, name: Name): PinnedDir | undefined {
  try {
    return new PinnedDir(openSync(parent.at(name), NO_LINK));
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

/** None when it was removed while we hold it. */
export function namesIn(dir: PinnedDir): Name[] {
  try {
    return readdirSync(`/proc/self/fd/${dir.fd}`, { encoding: "buffer" }) as Buffer[];
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}
