import { spawn } from "node:child_process";
import { accessSync, closeSync, constants, fstatSync, mkdirSync, openSync } from "node:fs";
import { AppError, EXIT_SETUP_NEEDED, systemClock } from "@boxyard/core";
import type { CliConfig } from "../config.ts";
import { answers } from "./health.ts";
import { selfCommand } from "./self-command.ts";
import { readServerFile, readSupervisor, type ServerFile, serverLogPath } from "./server-file.ts";
import { startFailure } from "./start-failure.ts";

/** How long a server may take until it answers; after a crash it first adopts the sandboxes that it finds. */
const START_LIMIT_MS = 60_000;
const POLL_MS = 10;
/** How long a hanging server may take to end before it is killed. */
const END_LIMIT_MS = 5000;
const PROBE_LIMIT_MS = 5000;

/**
 * Starts a server in a session of its own, its output in `server.log`, and waits until it answers. Undefined when it says that set-up is
 * needed.
 */
export async function startDetached(config: CliConfig, serveArgs: readonly string[], signal: AbortSignal): Promise<ServerFile | undefined> {
  const log = openSync(serverLogPath(config.dataDir), "a", 0o600);
  const before = fstatSync(log).size;
  const [command, ...args] = selfCommand("supervise", serveArgs);
  // stdin is nothing, the directory is /: a server must keep nothing open of the terminal it was started from.
  const child = spawn(command, args, {
    cwd: "/",
    detached: true,
    stdio: ["ignore", log, log],
    env: { ...config.env, BOXYARD_DATA: config.dataDir },
  });
  closeSync(log);
  let exitCode: number | undefined;
  child.once("exit", (code, signalName) => {
    exitCode = code ?? (signalName ? 128 : 1);
  });
  child.once("error", () => {
    exitCode = 127;
  });
  child.unref();
  const deadline = systemClock.monotonic() + START_LIMIT_MS;
  while (exitCode === undefined && systemClock.monotonic() < deadline) {
    const file = readServerFile(config.dataDir);
    const supervisor = readSupervisor(config.dataDir);
    if (file && supervisor?.pid === child.pid && file.pid === supervisor?.server && (await answers(file.url, PROBE_LIMIT_MS))) return file;
    await systemClock.sleep(POLL_MS, signal);
  }
  if (exitCode === EXIT_SETUP_NEEDED) return undefined;
  const how = exitCode === undefined ? `did not answer within ${START_LIMIT_MS / 1000} s` : `ended with exit code ${exitCode}`;
  const failure = startFailure(config.dataDir, how, before);
  if (child.pid) await endHanging(child.pid, () => exitCode !== undefined);
  throw failure;
}

/** Ends a server that does not answer. (It is a child of this process: its pid cannot be another process's yet.) */
async function endHanging(pid: number, hasEnded: () => boolean): Promise<void> {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    // The supervisor leads a process group, in which its server is.
    if (!hasEnded()) process.kill(-pid, signal);
    const deadline = systemClock.monotonic() + END_LIMIT_MS;
    while (!hasEnded() && systemClock.monotonic() < deadline) await systemClock.sleep(POLL_MS);
  }
}

/** Makes the data directory, for root alone: it holds the server's secrets. Throws `permission_denied` when it cannot be written. */
export function makeDataDir(config: CliConfig): void {
  try {
    mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
    accessSync(config.dataDir, constants.W_OK | constants.X_OK);
  } catch (cause) {
    const message = `cannot write to the data directory ${config.dataDir}`;
    const hint = "A local server needs root: use sudo. For a server elsewhere set BOXYARD_API_URL and BOXYARD_API_KEY.";
    throw new AppError("permission_denied", message, { reason: "data_directory", details: { hint }, cause });
  }
}
