import { constants, openSync, readdirSync, renameSync, rmdirSync, unlinkSync } from "node:fs";
import { LIMITS } from "../limits.ts";
import { PinnedDir } from "../path/pinned-dir.ts";
import { errnoOf } from "../sys/errno.ts";
import { temporaryName } from "../temporary-name.ts";
import { TimeSlice } from "../time-slice.ts";

/** A real directory and nothing that leads to one. */
const NO_LINK = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Looks into a directory again when somebody put something there while we emptied it. */
const ATTEMPTS = 5;

/** Names may be no text. */
type Name = string | Buffer;

interface Removal {
  /** Top of the tree that is removed. */
  readonly root: PinnedDir;
  /** Names directly below the root that are still to be removed. */
  readonly waiting: Name[];
  readonly slice: TimeSlice;
}

/**
 * Removes a name from a directory with everything below it. Each level is held by descriptor and links are never followed, so that
 * exchanging a directory for a link while we work can't take us out of the tree. Missing is fine. Throws the kernel's error.
 */
export async function removeTree(parent: PinnedDir, name: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    if (isUnlinked(parent, name)) return;
    const root = openDir(parent, name);
    if (!root) return;
    try {
      await empty({ root, waiting: namesIn(root), slice: new TimeSlice() });
    } finally {
      root.close();
    }
    try {
      return ignoreMissing(() => rmdirSync(parent.at(name)));
    } catch (error) {
      if (errnoOf(error) !== "ENOTEMPTY" || attempt >= ATTEMPTS) throw error;
    }
  }
}

async function empty(removal: Removal): Promise<void> {
  for (let name = removal.waiting.pop(); name !== undefined; name = removal.waiting.pop()) {
    await removeBelow(removal, removal.root, name, 1);
  }
}

async function removeBelow(removal: Removal, parent: PinnedDir, name: Name, depth: number): Promise<void> {
  const turn = removal.slice.turn();
  if (turn) await turn;
  if (isUnlinked(parent, name)) return;
  // Brought up below the root and done later: however deep a tree is, few descriptors are open at once.
  if (depth >= LIMITS.removeDepth) return bringUp(removal, parent, name);
  const dir = openDir(parent, name);
  if (!dir) return;
  try {
    for (const child of namesIn(dir)) await removeBelow(removal, dir, child, depth + 1);
  } finally {
    dir.close();
  }
  ignoreMissing(() => rmdirSync(parent.at(name)));
}

function bringUp({ root, waiting }: Removal, parent: PinnedDir, name: Name): void {
  const moved = temporaryName(false);
  renameSync(parent.at(name), root.at(moved));
  waiting.push(moved);
}

/** True when the name is gone now, false when it is a directory. */
function isUnlinked(parent: PinnedDir, name: Name): boolean {
  try {
    unlinkSync(parent.at(name));
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return true;
    // EPERM is what POSIX has for a directory here, EISDIR what Linux gives; in either case the directory is tried.
    if (errnoOf(error) === "EISDIR" || errnoOf(error) === "EPERM") return false;
    throw error;
  }
}

function openDir(parent: PinnedDir, name: Name): PinnedDir | undefined {
  try {
    return new PinnedDir(openSync(parent.at(name), NO_LINK));
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function namesIn(dir: PinnedDir): Name[] {
  return readdirSync(`/proc/self/fd/${dir.fd}`, { encoding: "buffer" }) as Buffer[];
}

function ignoreMissing(run: () => void): void {
  try {
    run();
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}
