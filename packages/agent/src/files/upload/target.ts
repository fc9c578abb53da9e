import { readlinkSync, type Stats } from "node:fs";
import { posix } from "node:path";
import { AppError } from "@boxyard/core";
import { httpFailure } from "../../contracts.ts";
import { LIMITS } from "../limits.ts";
import { ensureDir, type Owner, PinnedDir } from "../path/pinned-dir.ts";
import { baseName } from "../path/resolve-path.ts";
import { errnoOf, fileError } from "../sys/errno.ts";

/** Where an upload goes: a name in a directory held by descriptor. `existing` is what has the name now, always a regular file. */
export interface Target {
  /** As the user asked, absolute; for answers and messages. */
  readonly path: string;
  readonly dir: PinnedDir;
  readonly name: string;
  readonly existing: Stats | undefined;
}

const directory = (path: string) => new AppError("invalid_argument", `path is a directory: ${path}`, { reason: "is_directory" });

/**
 * Finds where writing to `path` must go, as open(2) would: links are followed to the end, a link to nothing makes its target. Missing
 * parents of the path as asked are made; parents behind a link are not. Throws 400 for directories and everything else that is no file.
 */
export function findTarget(path: string, owner: Owner, onCreate?: (path: string) => void): Target {
  let at = path;
  for (let links = 0; links <= LIMITS.symlinks; links++) {
    const name = baseName(at);
    if (at.endsWith("/") || name === "." || name === "..") throw directory(path);
    const dir = parentOf(at, path, owner, links === 0, onCreate);
    let keep = false;
    try {
      const stat = dir.lstat(name);
      if (stat?.isSymbolicLink()) {
        at = posix.isAbsolute(linkOf(dir, name)) ? linkOf(dir, name) : `${dir.realPath()}/${linkOf(dir, name)}`;
        continue;
      }
      if (stat?.isDirectory()) throw directory(path);
      if (stat && !stat.isFile()) throw httpFailure(400, `path is not a regular file: ${path}`);
      keep = true;
      return { path, dir, name, existing: stat };
    } catch (error) {
      keep = false;
      throw fileError(`look at '${path}'`, error);
    } finally {
      if (!keep) dir.close();
    }
  }
  throw httpFailure(400, `too many symbolic links: ${path}`);
}

function linkOf(dir: PinnedDir, name: string): string {
  return readlinkSync(dir.at(name));
}

function parentOf(at: string, asked: string, owner: Owner, create: boolean, onCreate?: (path: string) => void): PinnedDir {
  const parent = posix.dirname(at);
  try {
    return create ? ensureDir(parent, owner, onCreate) : PinnedDir.open(parent);
  } catch (error) {
    // A file among the parents, or a link whose target has no directory to be made in: the path is wrong, nothing is missing.
    if (errnoOf(error) === "ENOTDIR") throw httpFailure(400, `a part of the path is not a directory: ${asked}`, error);
    if (errnoOf(error) === "ENOENT") throw httpFailure(400, `path leads through a link to a missing directory: ${asked}`, error);
    throw fileError(`create the directory of '${asked}'`, error);
  }
}
