import { Database } from "bun:sqlite";
import { closeSync, openSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { AppError, systemClock } from "@boxyard/core";

const TRY_EVERY_MS = 20;

/** A lock that only one process holds; it ends with that process, however it ends. */
export interface Lock {
  release(): void;
}

/**
 * Waits for the lock under which a server is set up and started, so that two commands at once do not start two. The kernel's lock on a
 * SQLite file does the work: it is atomic, and nothing is left when its holder is killed.
 */
export async function acquireLock(dataDir: string, options: { limitMs: number; onWait: () => void; signal: AbortSignal }): Promise<Lock> {
  const path = join(dataDir, "start.lock");
  makeFile(path);
  const database = new Database(path);
  const deadline = systemClock.monotonic() + options.limitMs;
  try {
    for (let told = false; !tryLock(database, path); told = true) {
      if (!told) options.onWait();
      if (systemClock.monotonic() > deadline) {
        const message = `another boxyard command has been starting the server for ${options.limitMs / 1000} s`;
        throw new AppError("deadline_exceeded", message, { reason: "start_lock" });
      }
      await systemClock.sleep(TRY_EVERY_MS, options.signal);
    }
  } catch (error) {
    database.close();
    throw error;
  }
  return { release: () => database.close() };
}

/** SQLite itself would let everybody read it. */
function makeFile(path: string): void {
  try {
    closeSync(openSync(path, "a", 0o600));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EISDIR") throw cause;
    throw new AppError("failed_precondition", `${path} is a directory, in the place of a file that holds no data: move it away`, {
      reason: "bad_lock",
      cause,
    });
  }
}

function tryLock(database: Database, path: string): boolean {
  try {
    // Without a journal on the disk the lock can be had on a full one too.
    database.run("PRAGMA journal_mode = MEMORY");
    database.run("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === "SQLITE_BUSY") return false;
    if (code !== "SQLITE_NOTADB" && code !== "SQLITE_CORRUPT") throw error;
    // Damaged. SQLite looks at the content only once nobody has the file locked; emptied in its place it stays the one file that all lock.
    truncateSync(path);
    return tryLock(database, path);
  }
}
