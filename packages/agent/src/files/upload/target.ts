import { isUtf8 } from "node:buffer";
import { readlinkSync, type Stats } from "node:fs";
import { posix } from "node:path";
import { AppError } from "@boxyard/core";
import { httpFailure } from "../../contracts.ts";
import { LIMITS } from "../limits.ts";
import { ensureDir, type Owner, PinnedDir } from "../path/pinned-dir.ts";
import { baseName } from "../path/resolve-path.ts";
import { errnoOf, fileError } from "../sys/errno.ts";

/** Destination of an upload: a name in a directory held by descriptor. `existing`: the regular file that has the name now. */
export interface Target {
  /** The requested path, absolute; for answers and messages. */
  readonly path: string;
  readonly dir: PinnedDir;
  /** Bytes where it is not UTF-8. */
  readonly name: string | Buffer;
  readonly existing: Stats | undefined;
}

const SLASH = 0x2f;

const directory = (path: string) => new AppError("invalid_argument", `path is a directory: ${path}`, { reason: "is_directory" });

/**
 * Finds the destination of a write to `path`, as open(2) would: links are followed to the end; for a dangling link it is the link's target. Missing
 * parents of the requested path are made, those behind a link are not. Throws 400 where the destination is not a regular file.
 */
export function findTarget(path: string, owner: Owner, onCreate?: (path: string) => void): Target {
  let at: string | Buffer = path;
  /** Directory of the last link, which the path of the next one may go through. */
  let held: PinnedDir | undefined;
  try {
    for (let links = 0; links <= LIMITS.symlinks; links++) {
      const { parent, name } = split(at);
      if (name === "" || name === "." || name === "..") throw directory(path);
      const dir = parentOf(parent, path, links === 0 ? { owner, onCreate } : undefined);
      held?.close();
      held = dir;
      const stat = dir.lstat(name);
      if (stat?.isSymbolicLink()) {
        at = behindLink(dir, name);
        continue;
      }
      if (stat?.isDirectory()) throw directory(path);
      if (stat && !stat.isFile()) throw httpFailure(400, `path is not a regular file: ${path}`);
      held = undefined;
      return { path, dir, name, existing: stat };
    }
  } catch (error) {
    throw fileError(`look at '${path}'`, error);
  } finally {
    held?.close();
  }
  throw httpFailure(400, `too many symbolic links: ${path}`);
}

/** Directory and last name of a path; the name is empty for a path that ends in a slash. The content of a link may not be UTF-8. */
function split(path: string | Buffer): { readonly parent: string | Buffer; readonly name: string | Buffer } {
  if (typeof path === "string") return { parent: posix.dirname(path), name: path.endsWith("/") ? "" : baseName(path) };
  const cut = path.lastIndexOf("/");
  const name = path.subarray(cut + 1);
  return { parent: path.subarray(0, Math.max(cut, 1)), name: isUtf8(name) ? name.toString() : name };
}

/** Target of a link as an absolute path, valid while `dir` is open. */
function behindLink(dir: PinnedDir, name: string | Buffer): Buffer {
  const text = readlinkSync(dir.at(name), { encoding: "buffer" });
  return text[0] === SLASH ? text : Buffer.from(dir.at(text));
}

interface Creation {
  readonly owner: Owner;
  readonly onCreate: ((path: string) => void) | undefined;
}

function parentOf(parent: string | Buffer, asked: string, create: Creation | undefined): PinnedDir {
  try {
    return create ? ensureDir(parent.toString(), create.owner, create.onCreate) : PinnedDir.open(parent);
  } catch (error) {
    // A file among the parents, or a link to a file in a missing directory: the path is wrong, so 400 and not 404.
    if (errnoOf(error) === "ENOTDIR") throw httpFailure(400, `a part of the path is not a directory: ${asked}`, error);
    if (errnoOf(error) === "ENOENT") throw httpFailure(400, `path leads through a link to a missing directory: ${asked}`, error);
    throw fileError(`create the directory of '${asked}'`, error);
  }
}
