import { AppError } from "@boxyard/core";
import { OPAQUE } from "../images/attributes.ts";
import { getXattr, isWhiteout, openAt, type Stat, statAt, TYPE, typeOf } from "../sys/at.ts";
import { close, O, open } from "../sys/libc.ts";

/**
 * How many parts of a path exist as directories in an overlay of `trees` (paths of directories, topmost first). Throws `failed_precondition`, reason
 * `bad_mount_point`, when something else is on the way or at its end: a link could lead anywhere.
 */
export function directoriesOnPath(trees: readonly string[], path: string): number {
  const parts = path.split("/").slice(1);
  const opened = trees.map((tree) => open(tree, O.RDONLY | O.DIRECTORY));
  let level = [...opened];
  try {
    for (const [depth, part] of parts.entries()) {
      const name = Buffer.from(part, "utf8").toString("latin1");
      const below = directoriesBelow(level, name, path);
      opened.push(...below);
      if (below.length === 0) return depth;
      level = below;
    }
    return parts.length;
  } finally {
    for (const fd of opened) close(fd);
  }
}

/** How many parts two paths have in common at their beginning. */
export function sharedParts(one: string, other: string): number {
  const [a, b] = [one.split("/").slice(1), other.split("/").slice(1)];
  const differs = a.findIndex((part, i) => part !== b[i]);
  return differs < 0 ? a.length : differs;
}

/** The open directories of this name that overlay merges into one; none where there is nothing of this name. */
function directoriesBelow(level: readonly number[], name: string, path: string): number[] {
  const found: number[] = [];
  for (const directory of level) {
    const stat = statAt(directory, name);
    if (!stat) continue;
    if (isEnd(stat, found.length > 0, path)) break;
    const fd = openAt(directory, name, O.RDONLY | O.DIRECTORY);
    found.push(fd);
    if (getXattr(fd, OPAQUE)?.[0] === OPAQUE_YES) break;
  }
  return found;
}

const OPAQUE_YES = "y".charCodeAt(0);

/** True where the trees further down have no say: the name was removed there, or is hidden by the directory above. */
function isEnd(stat: Stat, isBelowDirectory: boolean, path: string): boolean {
  if (typeOf(stat) === TYPE.directory) return false;
  if (isWhiteout(stat) || isBelowDirectory) return true;
  throw badMountPoint(path);
}

const badMountPoint = (path: string) =>
  new AppError("failed_precondition", `No volume can be mounted at ${path}: what is there, or on the way, is a link or no directory`, {
    reason: "bad_mount_point",
    details: { path },
  });
