import { type BigIntStats, close, closeSync, constants, fstatSync, lstatSync, openSync, statSync, unlinkSync } from "node:fs";
import { posix } from "node:path";
import { httpFailure } from "../../contracts.ts";
import { O_PATH, PinnedDir } from "../path/pinned-dir.ts";
import { baseName } from "../path/resolve-path.ts";
import { errnoOf, fileError } from "../sys/errno.ts";

/** A source that passed validation. What it is is kept by identity, so that it is recognised when it is read and when it is deleted. */
export interface Source {
  /** As the caller spelled it, for messages. */
  readonly given: string;
  readonly path: string;
  /** The file, links followed. */
  readonly file: BigIntStats;
  /** What the path itself names: the file, or a link to it. */
  readonly entry: BigIntStats;
}

/** Whether two looks saw the same content of the same file. */
function unchanged(a: BigIntStats, b: BigIntStats): boolean {
  return sameFile(a, b) && a.size === b.size && a.mtimeNs === b.mtimeNs;
}

export function sameFile(a: BigIntStats, b: BigIntStats): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}

/** Throws 404 when nothing is there, 400 for everything but a regular file (links followed). */
export function checkSource(given: string, path: string): Source {
  try {
    const file = statSync(path, { bigint: true });
    if (!file.isFile()) throw httpFailure(400, `source path is not a regular file: ${given}`);
    return { given, path, file, entry: lstatSync(path, { bigint: true }) };
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") throw httpFailure(404, `source file not found: ${given}`, error);
    throw fileError(`look at source '${given}'`, error);
  }
}

/** Opens a source for reading if it is still what was validated. The caller closes it. */
export function openSource(source: Source): number {
  let fd: number;
  try {
    fd = openSync(source.path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") throw httpFailure(404, `source file not found: ${source.given}`, error);
    throw fileError(`open source '${source.given}'`, error);
  }
  if (unchanged(fstatSync(fd, { bigint: true }), source.file)) return fd;
  closeSync(fd);
  throw changed(source);
}

/** After the copy: what was written to it meanwhile would be lost with it. Throws 500. */
export function checkUnchanged(source: Source, fd: number): void {
  if (!unchanged(fstatSync(fd, { bigint: true }), source.file)) throw changed(source);
}

function changed(source: Source) {
  return httpFailure(500, `source file changed while it was composed: ${source.given}`);
}

/** Removes the source as spelled: of a link the link. Best effort: something else of that name by now stays. */
export function deleteSource(source: Source): void {
  try {
    const dir = PinnedDir.open(posix.dirname(source.path));
    try {
      const name = baseName(source.path);
      const now = lstatSync(dir.at(name), { bigint: true });
      if (!sameFile(now, source.entry)) return;
      // While it is held, only its name goes; the kernel lets go of a gigabyte of cached pages when the last descriptor is closed, which
      // takes a tenth of a second and happens on another thread.
      const held = openSync(dir.at(name), O_PATH | constants.O_NOFOLLOW);
      try {
        unlinkSync(dir.at(name));
      } finally {
        close(held, () => {});
      }
    } finally {
      dir.close();
    }
  } catch {
    // The composed file is complete; a source that stays is only clutter.
  }
}
