import { type BigIntStats, close, closeSync, constants, fstatSync, lstatSync, openSync, readSync, statSync, unlinkSync } from "node:fs";
import { posix } from "node:path";
import { AppError } from "@boxyard/core";
import { httpFailure } from "../../contracts.ts";
import { openForReading } from "../../sys/open-file.ts";
import { O_PATH, PinnedDir } from "../path/pinned-dir.ts";
import { baseName } from "../path/resolve-path.ts";
import { errnoOf, fileError } from "../sys/errno.ts";

/** A source that passed validation, with the identity of its file, by which later steps recognise it. */
export interface Source {
  /** The path as the request has it, for messages. */
  readonly given: string;
  readonly path: string;
  /** The file, links followed. */
  readonly file: BigIntStats;
  /** The entry that the path itself names: the file, or a link to it. */
  readonly entry: BigIntStats;
}

/**
 * Whether both describe the same content of the same file. The change time reveals a modification time that was set back. It also changes when
 * one of several names of a file is removed, as happens when two of them are sources: then the number of names differs.
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

/** Whether a file of size 0 has no content. Files of `/proc` have size 0 and content that the kernel makes at each read. */
function isEmpty(path: string): boolean {
  const fd = openForReading(path);
  try {
    return readSync(fd, new Uint8Array(1), 0, 1, 0) === 0;
  } finally {
    closeSync(fd);
  }
}

/** The error for a file of the kernel: it has no size to check, and cannot be deleted afterwards. */
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

/** Called after all sources are copied: a later write to a source would be lost with its deletion. Throws 409. */
export function checkUnchanged(source: Source): void {
  const now = statSync(source.path, { bigint: true, throwIfNoEntry: false });
  if (!now || !unchanged(now, source.file)) throw changed(source);
}

function changed(source: Source) {
  return new AppError("aborted", `source file changed while it was composed: ${source.given}`);
}

/** Removes the entry that the path names: for a link, the link. Never throws. An entry that was replaced or changed meanwhile stays. */
export function deleteSource(source: Source): void {
  try {
    const dir = PinnedDir.open(posix.dirname(source.path));
    try {
      const name = baseName(source.path);
      // While the descriptor is open, unlink only removes the name. Freeing a gigabyte of cached pages takes a tenth of a second, and
      // happens when the descriptor is closed, on another thread.
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
    // The composed file is complete without this deletion.
  }
}
