import { renameSync } from "node:fs";
import { posix } from "node:path";
import { AppError, withoutTrailing } from "@boxyard/core";
import { httpFailure } from "../../contracts.ts";
import { ensureDir, type Owner, PinnedDir } from "../path/pinned-dir.ts";
import { baseName } from "../path/resolve-path.ts";
import { errnoOf, fileError } from "../sys/errno.ts";
import { holdsMount } from "../sys/mounts.ts";
import { temporaryName } from "../temporary-name.ts";
import { copyTree } from "./copy-tree.ts";
import { removeTree } from "./remove-tree.ts";

/** Splits the path of a directory's entry; slashes at the end are dropped. Throws 400 for `/`, and for a path that ends in `.` or `..`. */
export function entryOf(path: string): { readonly parent: string; readonly name: string; readonly path: string } {
  const clean = withoutTrailing(path, "/") || "/";
  const name = baseName(clean);
  if (clean === "/" || name === "." || name === "..") throw httpFailure(400, `path names no entry of a directory: ${path}`);
  return { parent: posix.dirname(clean), name, path: clean };
}

function openSourceDir(parent: string, source: string): PinnedDir {
  try {
    return PinnedDir.open(parent);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === "ENOENT" || errno === "ENOTDIR") throw sourceMissing(source, error);
    throw fileError(`move '${source}'`, error);
  }
}

const sourceMissing = (source: string, cause?: unknown) =>
  new AppError("not_found", `source file not found: ${source}`, { reason: "not_found", cause });

/** Renames a file or directory, making missing parents of the destination; a file at the destination is replaced. Returns its path. */
export async function move(source: string, destination: string, owner: Owner): Promise<string> {
  const from = entryOf(source);
  const to = entryOf(destination);
  const what = `move '${source}' to '${destination}'`;
  const fromDir = openSourceDir(from.parent, source);
  try {
    if (!fromDir.lstat(from.name)) throw sourceMissing(source);
    const toDir = ensureDir(to.parent, owner);
    try {
      if (!renamed(fromDir, from.name, toDir, to.name)) await copyOver(fromDir, from.name, toDir, to.name);
    } finally {
      toDir.close();
    }
  } catch (error) {
    throw fileError(what, error);
  } finally {
    fromDir.close();
  }
  return to.path;
}

/** Renames; false where the kernel says that the move needs a copy. */
function renamed(from: PinnedDir, name: string, to: PinnedDir, newName: string): boolean {
  try {
    renameSync(from.at(name), to.at(newName));
    return true;
  } catch (error) {
    if (errnoOf(error) === "EXDEV") return false;
    throw error;
  }
}

/** Copies to a temporary name, renames the copy to its final name, then removes the source. */
async function copyOver(from: PinnedDir, name: string, to: PinnedDir, newName: string): Promise<void> {
  refuseMounts(from, name);
  const temporary = temporaryName(to.lstat(newName) !== undefined);
  try {
    await copyTree(from, name, to, temporary);
    renameSync(to.at(temporary), to.at(newName));
  } catch (error) {
    await removeTree(to, temporary).catch(() => {});
    throw error;
  }
  await removeTree(from, name);
}

/** Throws for a tree with mount points: they cannot be copied, and the destination could lie below one. */
function refuseMounts(from: PinnedDir, name: string): void {
  const dir = from.realPath().toString("latin1");
  const path = Buffer.from(`${dir === "/" ? "" : dir}/`, "latin1");
  if (!holdsMount(Buffer.concat([path, Buffer.from(name)]))) return;
  throw new AppError("failed_precondition", `'${name}' holds a mount point and can't be moved to another file system`, {
    reason: "mount_point",
  });
}
