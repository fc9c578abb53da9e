import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { errnoOf } from "@boxyard/core/node";

/**
 * Watches the name of a SQLite store's file. SQLite goes on with a file that was deleted or replaced, without an error, and all that it writes then
 * is lost at the end of the process.
 */
export class StoreFile {
  private readonly path: string;
  private readonly database: StoreDatabase;
  private readonly opened: string | undefined;
  /** True when the database's log was unlinked: changes that are in the log only would be lost with this process. */
  private isLogRemoved = false;

  constructor(path: string, database: StoreDatabase) {
    this.path = path;
    this.database = database;
    this.opened = identityOf(path);
  }

  /**
   * The error, if the name does not lead to the file that was opened: `unavailable`, reason `store_lost`; reason `store_unavailable` when the file
   * cannot be examined.
   */
  trouble(): AppError | undefined {
    let now: string | undefined;
    try {
      now = identityOf(this.path);
    } catch (cause) {
      return new AppError("unavailable", `The store ${this.path} can't be reached (${errnoOf(cause)})`, {
        reason: "store_unavailable",
        cause,
      });
    }
    if (now === this.opened && !this.isLogRemoved) return undefined;
    const what = now === undefined ? "was deleted" : now === this.opened ? "was moved away" : "was replaced";
    const message =
      `The store ${this.path} ${what} while the server runs; the server takes no more changes. ` +
      "'boxyard down', then 'boxyard up -d' goes on with the file that is there; a deleted one is written anew from what the server still has";
    return new AppError("unavailable", message, { reason: "store_lost" });
  }

  /**
   * Writes the store again where its file was deleted, for the next server. Nothing is lost, even when the process is killed in between
   * (`finishPutBack`). Repeatable; never replaces a file. Throws `unavailable`, reason `store_lost`, where the new file cannot get its name, as on a
   * file system without hard links: the next start gives it the name.
   */
  async putBack(): Promise<void> {
    if (identityOf(this.path) !== undefined) return;
    const part = partOf(this.path);
    rmSync(part, { force: true });
    const fd = openSync(part, "wx", 0o600);
    try {
      await this.database.copyTo(part);
      fsyncSync(fd);
      renameSync(part, wholeOf(this.path));
      this.isLogRemoved = true;
    } finally {
      closeSync(fd);
      rmSync(part, { force: true });
    }
    try {
      if (identityOf(this.path) === undefined) removeLog(this.path);
      // Not `rename`, which would replace a file that another process has put there meanwhile.
      linkSync(wholeOf(this.path), this.path);
      rmSync(wholeOf(this.path));
    } catch (cause) {
      throw unfinished(this.path, cause);
    }
  }

  /** Begins a new log when the file that was opened is back after `putBack`. Repeatable; does nothing in all other cases. */
  async restoreLog(): Promise<void> {
    if (!this.isLogRemoved || identityOf(this.path) !== this.opened) return;
    await this.database.renewLog();
    this.isLogRemoved = false;
    // The copy of an unfinished `putBack` is older than the file.
    rmSync(wholeOf(this.path), { force: true });
  }
}

/** Names of a copy that `putBack` is writing, and of one that is whole but has not got the store's name. (Earlier versions wrote to `.copy`.) */
const partOf = (path: string) => `${path}.part`;
const wholeOf = (path: string) => `${path}.whole`;

/** Removes the log of the deleted file, which SQLite would apply to the new one. */
function removeLog(path: string): void {
  for (const end of ["-wal", "-shm"]) rmSync(path + end, { force: true });
}

/**
 * Finishes an earlier `putBack` that has written the whole store but could not give it its name. Where another file has the name by now, the copy is
 * kept under a name of its own, which this returns. To be called before the store is opened; when this throws (`unavailable`, reason `store_lost`),
 * the store must not be opened, because an empty one would take its place.
 */
export function finishPutBack(path: string): string | undefined {
  const whole = wholeOf(path);
  try {
    // On a read-only disk `rmSync` fails even if there is no file.
    if (existsSync(partOf(path))) rmSync(partOf(path));
    const written = identityOf(whole);
    const named = identityOf(path);
    if (written === undefined) return undefined;
    if (named === undefined) {
      removeLog(path);
      renameSync(whole, path);
      return undefined;
    }
    if (named === written) {
      rmSync(whole);
      return undefined;
    }
    const kept = `${path}.kept-${Math.trunc(statSync(whole).mtimeMs)}`;
    renameSync(whole, kept);
    return kept;
  } catch (cause) {
    throw unfinished(path, cause);
  }
}

/**
 * Makes the file readable for root only; SQLite would let every user read it, and gives its other files the same mode. If this fails, SQLite reports
 * the reason later. Returns the result of `finishPutBack`.
 */
export function makePrivate(file: string): string | undefined {
  if (file === ":memory:") return undefined;
  const keptAs = finishPutBack(file);
  try {
    closeSync(openSync(file, "a", 0o600));
  } catch {}
  return keptAs;
}

function unfinished(path: string, cause: unknown): AppError {
  const message =
    `The store ${path} was deleted, and what a server has written in its place can't get its name ` +
    `(${errnoOf(cause) ?? String(cause)}): if there is a file ${wholeOf(path)}, it is all of the store; rename it to ${path}`;
  return new AppError("unavailable", message, { reason: "store_lost", cause });
}

/** What `StoreFile` needs of the database. */
export interface StoreDatabase {
  /** Writes the whole database into `file`, which must be empty. */
  copyTo(file: string): Promise<void>;
  /** Writes the whole log (WAL) into the database's file, and begins a new log. */
  renewLog(): Promise<void>;
}

/** Device and inode number of the file; undefined if there is none. */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
