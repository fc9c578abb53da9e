import { lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { type FileLock, tryLockFile } from "@boxyard/core/file-lock";
import { makePrivateDirectory, processStat } from "@boxyard/core/node";

/** The content of `server.json`: the running server. */
export interface ServerFile {
  readonly version: 1;
  readonly pid: number;
  /** Start of the process in clock ticks since boot, since the pid may belong to another process by now. */
  readonly startTimeTicks: number;
  readonly url: string;
  readonly build: string;
}

const pathOf = (dataDir: string) => join(dataDir, "server.json");

/** Writes the file atomically. Throws `failed_precondition` when the directory cannot be written. */
export function writeServerFile(dataDir: string, url: string, build: string): void {
  const content: ServerFile = { version: 1, pid: process.pid, startTimeTicks: processStat("self")?.startTicks ?? 0, url, build };
  try {
    writeFileSync(`${pathOf(dataDir)}.new`, `${JSON.stringify(content)}\n`, { mode: 0o600 });
    renameSync(`${pathOf(dataDir)}.new`, pathOf(dataDir));
  } catch (cause) {
    throw directoryFault(dataDir, cause);
  }
}

/** The server that uses the directory now; undefined when none does. `evenIfDead`: also a server that has ended without removing the file. */
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

/**
 * Locks a data directory, which one process may use at a time. The lock is the kernel's, so it ends with its process, however the process ends. A server
 * may hold the lock of an earlier file with this name, so `server.json` is read too. Throws `already_exists`, reason `server_running`;
 * `failed_precondition` for a directory in the file's place, or a data directory that cannot be written.
 */
export function lockDataDir(dataDir: string): FileLock {
  const path = join(dataDir, "server.lock");
  const lock = tryLock(dataDir, path);
  if (lock && !readServerFile(dataDir)) return lock;
  lock?.release();
  throw serverRunning(dataDir);
}

function tryLock(dataDir: string, path: string): FileLock | undefined {
  try {
    return tryLockFile(path);
  } catch (cause) {
    throw lockFault(dataDir, path, cause);
  }
}

function serverRunning(dataDir: string): AppError {
  const message = `Another server is working on ${dataDir}; \`BOXYARD_DATA=${dataDir} boxyard down\` ends it`;
  return new AppError("already_exists", message, { reason: "server_running" });
}

/** The error of a lock that cannot be opened. A directory in the lock's place is not removed: it may hold data of the operator. */
function lockFault(dataDir: string, path: string, cause: unknown): AppError {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== false) return directoryFault(dataDir, cause);
  return new AppError("failed_precondition", `${path} is not a file. The server keeps no data there: move it away`, {
    reason: "bad_lock",
    cause,
  });
}

/** Makes the data directory if there is none, and gives it to root alone (0700). */
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

/** The content of `supervisor.json`: the process that restarts a server in the background (`verbs/supervise.ts`). */
export interface SupervisorFile {
  readonly version: 1;
  readonly pid: number;
  readonly startTimeTicks: number;
  /** Pid of the server that the supervisor has started last. */
  readonly server?: number;
  readonly gaveUp?: GaveUp;
}

const supervisorPath = (dataDir: string) => join(dataDir, "supervisor.json");

/** Writes `supervisor.json`. Errors are ignored: a full disk must not end the supervisor. */
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
