import { Database } from "bun:sqlite";
import { lstatSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { makePrivateDirectory, processStat } from "@boxyard/core/node";

/** What `server.json` says of the running server. */
export interface ServerFile {
  readonly version: 1;
  readonly pid: number;
  /** Start of the process in clock ticks since boot: a pid alone may be another's by now. */
  readonly startTimeTicks: number;
  readonly url: string;
  readonly build: string;
}

const pathOf = (dataDir: string) => join(dataDir, "server.json");

/** Writes the file in one go: a reader sees all of it or none. */
export function writeServerFile(dataDir: string, url: string, build: string): void {
  const content: ServerFile = { version: 1, pid: process.pid, startTimeTicks: processStat("self")?.startTicks ?? 0, url, build };
  try {
    writeFileSync(`${pathOf(dataDir)}.new`, `${JSON.stringify(content)}\n`, { mode: 0o600 });
    renameSync(`${pathOf(dataDir)}.new`, pathOf(dataDir));
  } catch (cause) {
    throw directoryFault(dataDir, cause);
  }
}

/** What the server says that works on the directory now; undefined when none does. `evenIfDead`: also of one that has ended without taking it away. */
export function readServerFile(dataDir: string, { evenIfDead = false } = {}): ServerFile | undefined {
  try {
    const file = JSON.parse(readFileSync(pathOf(dataDir), "utf8")) as ServerFile;
    return evenIfDead || processStat(file.pid)?.startTicks === file.startTimeTicks ? file : undefined;
  } catch {
    return undefined;
  }
}

export function removeServerFile(dataDir: string): void {
  rmSync(pathOf(dataDir), { force: true });
}

export interface DirectoryLock {
  release(): void;
}

/**
 * Makes sure that one process at a time works on a data directory. The kernel's lock on a SQLite file does it: it goes away with its holder,
 * however that ends. A damaged file is emptied first where no server is at work. Throws `already_exists`, reason `server_running`.
 */
export function lockDataDir(dataDir: string): DirectoryLock {
  const path = join(dataDir, "server.lock");
  try {
    return lockFile(path);
  } catch (cause) {
    const code = (cause as { code?: unknown }).code;
    if (code === "SQLITE_BUSY") throw serverRunning(dataDir, cause);
    if (code !== "SQLITE_NOTADB" && code !== "SQLITE_CORRUPT") throw lockFault(dataDir, path, cause);
    return lockDamaged(dataDir, path);
  }
}

/**
 * SQLite looks at the content of a file only once nobody has it locked, so nobody holds this one. A server may hold one that had its name before:
 * `server.json` tells. The file is emptied and not replaced, for another may have found it damaged too, and have locked it by now.
 */
function lockDamaged(dataDir: string, path: string): DirectoryLock {
  if (readServerFile(dataDir)) throw serverRunning(dataDir);
  try {
    truncateSync(path);
    return lockFile(path);
  } catch (cause) {
    if ((cause as { code?: unknown }).code === "SQLITE_BUSY") throw serverRunning(dataDir, cause);
    throw directoryFault(dataDir, cause);
  }
}

function lockFile(path: string): DirectoryLock {
  let database: Database | undefined;
  try {
    database = new Database(path, { create: true });
    // Without a journal on the disk the lock can be had on a full one too, as a removal must.
    database.run("PRAGMA journal_mode = MEMORY");
    database.run("BEGIN EXCLUSIVE");
    return { release: () => database?.close() };
  } catch (cause) {
    database?.close();
    throw cause;
  }
}

function serverRunning(dataDir: string, cause?: unknown): AppError {
  const message = `Another server is working on ${dataDir}; \`boxyard down\` ends it`;
  return new AppError("already_exists", message, { reason: "server_running", cause });
}

/** What is no file at all holds no lock, but it may be somebody's. */
function lockFault(dataDir: string, path: string, cause: unknown): AppError {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== false) return directoryFault(dataDir, cause);
  return new AppError("failed_precondition", `${path} is no file. It holds no data of the server's: move it away`, {
    reason: "bad_lock",
    cause,
  });
}

/** Makes the data directory if need be, and sees to it that it is root's alone. */
export function makeDataDir(dataDir: string): void {
  try {
    makePrivateDirectory(dataDir);
  } catch (cause) {
    throw cause instanceof AppError ? cause : directoryFault(dataDir, cause);
  }
}

function directoryFault(dataDir: string, cause: unknown): AppError {
  const said = cause instanceof Error ? cause.message : String(cause);
  const message = `The data directory ${dataDir} can't be written (${said}); make room there, or set BOXYARD_DATA to a directory that root can write`;
  return new AppError("failed_precondition", message, { reason: "data_directory", cause });
}

/** Why a supervisor no longer starts its server. */
export interface GaveUp {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly exitCode: number;
  readonly reason: string;
}

/** What `supervisor.json` says of who keeps a server in the background running (`verbs/supervise.ts`). */
export interface SupervisorFile {
  readonly version: 1;
  readonly pid: number;
  readonly startTimeTicks: number;
  /** The server that it has started last. */
  readonly server?: number;
  readonly gaveUp?: GaveUp;
}

const supervisorPath = (dataDir: string) => join(dataDir, "supervisor.json");

/** A disk that is full must not end the one who keeps the server running. */
export function writeSupervisorFile(dataDir: string, facts: Pick<SupervisorFile, "server" | "gaveUp">): void {
  const path = supervisorPath(dataDir);
  const content: SupervisorFile = { version: 1, pid: process.pid, startTimeTicks: processStat("self")?.startTicks ?? 0, ...facts };
  try {
    writeFileSync(`${path}.new`, `${JSON.stringify(content)}\n`, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } catch {}
}

export function readSupervisorFile(dataDir: string): SupervisorFile | undefined {
  try {
    return JSON.parse(readFileSync(supervisorPath(dataDir), "utf8")) as SupervisorFile;
  } catch {
    return undefined;
  }
}

export function removeSupervisorFile(dataDir: string): void {
  rmSync(supervisorPath(dataDir), { force: true });
}
