import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { AppError, isAppError } from "@boxyard/core";
import { FENCED } from "./fence.ts";

/** Codes of faults of the store, in SQLite and in PostgreSQL (its documentation, appendix A). */
const FULL = /^(SQLITE_FULL|53100)$/;
const BROKEN = /^(SQLITE_CORRUPT.*|SQLITE_NOTADB|XX00[12])$/;
const DENIED = /^(28...|3D000|42501|SQLITE_PERM|SQLITE_READONLY.*|SQLITE_CANTOPEN.*|ERR_POSTGRES_(INVALID|UNSUPPORTED|UNKNOWN)_AUTH.*)$/;
/** Codes that SQLite also gives on a full disk. */
const UNWRITTEN = /^SQLITE_IOERR.*$/;
const AWAY = /^(SQLITE_IOERR.*|SQLITE_BUSY.*|SQLITE_LOCKED.*|08...|53...|57P0.|ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME).*)$/;

interface DatabaseError {
  readonly code?: unknown;
  readonly errno?: unknown;
}

/** SQLite needs more free space than this for any write. */
const LEAST_FREE_BYTES = 64 * 1024;

/** True when the disk of a store's file is full: SQLite then reports most failures as errors of input and output. */
export function isDiskFull(file: string): boolean {
  try {
    // Not `bfree`, though root may use some of the difference: ext4 counts blocks there that no process can use.
    const { bavail, bsize } = statfsSync(dirname(file));
    return bavail * bsize < LEAST_FREE_BYTES;
  } catch {
    // The store's own error says more than that the disk cannot be examined.
    return false;
  }
}

/**
 * The error for the operator that an error of the database stands for, with what to do; undefined if the error is one of a single statement.
 * `where` names the store; `isFull`: its disk has no room.
 */
export function storeFault(error: unknown, where = "The server's store", isFull = false): AppError | undefined {
  const { code, errno } = error as DatabaseError;
  const codes = [code, errno].filter((value): value is string => typeof value === "string");
  const is = (pattern: RegExp) => codes.some((value) => pattern.test(value));
  const said = error instanceof Error ? error.message : String(error);
  const fault = (reason: string, message: string, kind: "unavailable" | "data_loss" = "unavailable") =>
    new AppError(kind, message, { reason, cause: error });
  if (codes.includes(FENCED))
    return new AppError("unavailable", "Another replica of the server has taken over", { reason: "not_owner", cause: error });
  if (is(FULL) || (isFull && is(UNWRITTEN))) return fault("store_full", `${where} has no room left on its disk; make some`);
  if (is(BROKEN))
    return fault(
      "store_broken",
      `${where} is damaged, or no store at all (${said}); move it away, and bring back a copy of it if there is one`,
      "data_loss",
    );
  if (is(DENIED)) return fault("store_denied", `${where} can't be opened: ${said}; check that it exists and that this server may use it`);
  if (is(AWAY)) return fault("store_unavailable", `${where} can't be reached or written: ${said}`);
  return undefined;
}

/** True for errors of `storeFault`, of a database that does not answer in time, and of a store file that was deleted. */
export function isStoreFault(error: unknown): boolean {
  return isAppError(error) && /^store_(full|broken|denied|lost|unavailable)$/.test(error.reason ?? "");
}

/** True for faults of the store that may pass, by themselves or by an act of the operator; false for a damaged store. */
export function isStoreAway(error: unknown): boolean {
  return isStoreFault(error) && isAppError(error, "unavailable");
}
