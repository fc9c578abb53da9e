import { type BigIntStats, close, closeSync, constants, fstatSync, lstatSync, openSync, readSync, statSync, unlinkSync } from "node:fs";
import { posix } from "node:path";
import { httpFailure } from "../../contracts.ts";
import { openForReading } from "../../sys/open-file.ts";
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

/**
 * Whether two looks saw the same content of the same file. The change time gives away a program that set the modification time back; that
 * of a file with several names moves too when one of them goes, as it does when two of them are sources.
 */
function unchanged(a: BigIntStats, b: BigIntStats): boolean {
  return sameFile(a, b) && a.size === b.size && a.mtimeNs === b.mtimeNs && (a.ctimeNs === b.ctimeNs || a.nlink !== b.nlink);
}

export function sameFile(a: BigIntStats, b: BigIntStats): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}

/** Throws 404 when nothing is there, 400 for everything but a regular file (links followed). */
export function checkSource(given: string, path: string): Source {
  try {
    const file = statSync(path, { bigint: true });
    if (!file.isFile()) throw httpFailure(400, `source path is not a regular file: ${given}`);
    if (file.size === 0n && !isEmpty(path)) throw madeUp(given);
    return { given, path, file, entry: lstatSync(path, { bigint: true }) };
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") throw httpFailure(404, `source file not found: ${given}`, error);
    throw fileError(`look at source '${given}'`, error);
  }
}

/** A file of size 0 that has content anyway is made up as it is read, as those of `/proc` are. */
function isEmpty(path: string): boolean {
  const fd = openForReading(path);
  try {
    return readSync(fd, new Uint8Array(1), 0, 1, 0) === 0;
  } finally {
    closeSync(fd);
  }
}

/** Of such a file nobody knows how much it is, and it can't go away afterwards. */
export function madeUp(given: string) {
  return httpFailure(400, `source path is a file that the kernel makes up as it is read: ${given}`);
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

/** After all are copied: what was written to one meanwhile would be lost with it. Throws 500. */
export function checkUnchanged(source: Source): void {
  const now = statSync(source.path, { bigint: true, throwIfNoEntry: false });
  if (!now || !unchanged(now, source.file)) throw changed(source);
}

function changed(source: Source) {
  return httpFailure(500, `source file changed while it was composed: ${source.given}`);
}

/** Removes the source as spelled: of a link the link. Best effort: something else of that name by now stays, and so does what was written to. */
export function deleteSource(source: Source): void {
  try {
    const dir = PinnedDir.open(posix.dirname(source.path));
    try {
      const name = baseName(source.path);
      // While it is held, only its name goes; the kernel frees a gigabyte of cached pages when the last descriptor is closed, which
      // takes a tenth of a second and happens on another thread.
      const held = openSync(dir.at(name), O_PATH | constants.O_NOFOLLOW);
      try {
        if (unchanged(fstatSync(held, { bigint: true }), source.entry)) unlinkSync(dir.at(name));
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
