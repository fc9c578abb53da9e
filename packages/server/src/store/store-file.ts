import { closeSync, fsyncSync, linkSync, openSync, rmSync, statSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { errnoOf } from "@boxyard/core/node";

/**
 * The file of a SQLite store, seen by its name. SQLite goes on with a file that was deleted or replaced as if nothing were wrong, and all that it writes
 * then is lost at the end of the process.
 */
export class StoreFile {
  private readonly path: string;
  /** Writes a whole copy of the store into an empty file. */
  private readonly copy: (to: string) => Promise<void>;
  private readonly opened: string | undefined;

  constructor(path: string, copy: (to: string) => Promise<void>) {
    this.path = path;
    this.copy = copy;
    this.opened = identityOf(path);
  }

  /** What is wrong, if the name does not lead to the file that was opened: `unavailable`, reason `store_lost`. */
  trouble(): AppError | undefined {
    const now = identityOf(this.path);
    if (now === this.opened) return undefined;
    const what = now === undefined ? "was deleted" : "was replaced";
    const message =
      `The store ${this.path} ${what} while the server runs; the server takes no more changes. ` +
      "'boxyard down', then 'boxyard up -d' goes on with the file that is there; a deleted one is written anew from what the server still has";
    return new AppError("unavailable", message, { reason: "store_lost" });
  }

  /** Writes the store anew where its file was deleted, for the next server: nothing is lost. Repeatable; never replaces a file. */
  async putBack(): Promise<void> {
    if (identityOf(this.path) !== undefined) return;
    const aside = `${this.path}.copy`;
    rmSync(aside, { force: true });
    const fd = openSync(aside, "wx", 0o600);
    try {
      await this.copy(aside);
      fsyncSync(fd);
      // The log of the deleted file would be read into the new one.
      for (const end of ["-wal", "-shm"]) rmSync(this.path + end, { force: true });
      linkSync(aside, this.path);
    } finally {
      closeSync(fd);
      rmSync(aside, { force: true });
    }
  }
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
