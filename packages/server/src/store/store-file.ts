import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { errnoOf } from "@boxyard/core/node";

/**
 * The file of a SQLite store, seen by its name. SQLite goes on with a file that was deleted or replaced as if nothing were wrong, and all that it writes
 * then is lost at the end of the process.
 */
export class StoreFile {
  private readonly path: string;
  private readonly database: StoreDatabase;
  private readonly opened: string | undefined;
  /** True when the database's log has no name any more: what is only in it would be lost with this process. */
  private isLogRemoved = false;

  constructor(path: string, database: StoreDatabase) {
    this.path = path;
    this.database = database;
    this.opened = identityOf(path);
  }

  /**
   * What is wrong, if the name does not lead to the file that was opened: `unavailable`, reason `store_lost`; `store_unavailable` when that cannot be
   * seen.
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
   * Writes the store anew where its file was deleted, for the next server: nothing is lost, also when the process is killed on the way
   * (`finishPutBack`). Repeatable; never replaces a file. Throws `unavailable`, reason `store_lost`, where what is written can't get its name, as on a
   * file system without hard links: it gets that at the next start.
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
      // Not `rename`, which would replace a file that somebody has put there meanwhile.
      linkSync(wholeOf(this.path), this.path);
      rmSync(wholeOf(this.path));
    } catch (cause) {
      throw unfinished(this.path, cause);
    }
  }

  /** Once the file that was opened is back after `putBack`, it gets a log again. Repeatable; does nothing in all other cases. */
  async restoreLog(): Promise<void> {
    if (!this.isLogRemoved || identityOf(this.path) !== this.opened) return;
    await this.database.renewLog();
    this.isLogRemoved = false;
    // Older than what is there, if `putBack` came no further.
    rmSync(wholeOf(this.path), { force: true });
  }
}

/** A store that is being written anew, and one that is whole and has not got its name yet. (Earlier versions had half ones as `.copy`.) */
const partOf = (path: string) => `${path}.part`;
const wholeOf = (path: string) => `${path}.whole`;

/** The log of the deleted file would be read into the new one. */
function removeLog(path: string): void {
  for (const end of ["-wal", "-shm"]) rmSync(path + end, { force: true });
}

/**
 * Gives the store of an earlier `putBack` its name, if that has written all of it and then came no further. Where another file has the name by now, it
 * keeps what was written under a name of its own, and returns that. To be called before the store is opened, which must not go on when this throws
 * (`unavailable`, reason `store_lost`): an empty store would take its place.
 */
export function finishPutBack(path: string): string | undefined {
  const whole = wholeOf(path);
  try {
    // On a disk that is read-only even the removal of nothing fails.
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

function unfinished(path: string, cause: unknown): AppError {
  const message =
    `The store ${path} was deleted, and what a server has written in its place can't get its name ` +
    `(${errnoOf(cause) ?? String(cause)}): if there is a file ${wholeOf(path)}, it is all of the store; rename it to ${path}`;
  return new AppError("unavailable", message, { reason: "store_lost", cause });
}

/** What it needs of the database. */
export interface StoreDatabase {
  /** Writes the whole database into `file`, which is empty. */
  copyTo(file: string): Promise<void>;
  /** Puts all that is in the log into the database's file, and begins a log anew. */
  renewLog(): Promise<void>;
}

/** Device and number of the file of that name; undefined if there is none. */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
