import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { AppError, EXIT_SETUP_NEEDED } from "@boxyard/core";
import { CHECKOUT } from "../config.ts";
import { eventually } from "../eventually.ts";
import { bundleOrSource, SERVER_PROGRAMS } from "./bundles.ts";
import { endsWithin } from "./child.ts";
import { FAULT_VARIABLE } from "./faults.ts";

/** How long a server may take until it answers. */
const START_MS = 30_000;
/** How long a server that was asked to end may take. */
const STOP_MS = 20_000;

type Environment = Readonly<Record<string, string | undefined>>;

export interface ServerProcess {
  readonly pid: number;
  readonly url: string;
  readonly exited: Promise<number>;
  /** Asks it to end, as `boxyard down` does; its sandboxes stay. */
  stop(): Promise<void>;
  /** `kill -9`. */
  kill9(): Promise<void>;
}

interface ServerFile {
  readonly pid: number;
  readonly url: string;
}

/** Reason of the error when the data directory has to be set up first. */
export const SETUP_NEEDED = "setup_needed";

export const logFileOf = (dataDir: string) => join(dataDir, "test-server.log");

/** Starts the real server on a data directory and waits until it answers. What it prints is in `test-server.log` there. */
export async function startServer(dataDir: string, env: Environment, args: readonly string[] = []): Promise<ServerProcess> {
  const logFile = logFileOf(dataDir);
  const log = openSync(logFile, "a", 0o600);
  const before = fstatSync(log).size;
  const program = bundleOrSource(env[FAULT_VARIABLE] ? SERVER_PROGRAMS.faulty : SERVER_PROGRAMS.plain);
  const child = Bun.spawn([process.execPath, program, "serve", ...args], {
    cwd: CHECKOUT,
    env,
    stdin: "ignore",
    stdout: log,
    stderr: log,
  });
  closeSync(log);
  try {
    const look = () => (child.exitCode === null ? answeringUrl(dataDir, child) : ENDED);
    const url = await eventually("the server answers", look, { withinMs: START_MS, everyMs: 10 });
    if (url === ENDED) throw new AppError("internal", `it ended with exit code ${child.exitCode}`, { reason: "server_ended" });
    return { pid: child.pid, url, exited: child.exited, stop: () => stop(child, logFile), kill9: () => kill9(child) };
  } catch (cause) {
    await kill9(child);
    const reason = child.exitCode === EXIT_SETUP_NEEDED ? SETUP_NEEDED : "server_start";
    throw new AppError("internal", `The server did not start; its log:\n${tail(logFile, before)}`, { reason, cause });
  }
}

const ENDED = "ended";

type Child = Bun.Subprocess<"ignore", number, number>;

async function answeringUrl(dataDir: string, child: Child): Promise<string | undefined> {
  const file = JSON.parse(readFileSync(join(dataDir, "server.json"), "utf8")) as ServerFile;
  if (file.pid !== child.pid) return undefined;
  const health = await fetch(`${file.url}/health`);
  await health.body?.cancel();
  return health.ok ? file.url : undefined;
}

async function stop(child: Child, logFile: string): Promise<void> {
  child.kill("SIGTERM");
  if (await endsWithin(child.exited, STOP_MS)) return;
  await kill9(child);
  throw new AppError("deadline_exceeded", `The server did not end within ${STOP_MS} ms; the end of its log:\n${tail(logFile)}`);
}

async function kill9(child: Child): Promise<void> {
  child.kill("SIGKILL");
  await child.exited;
}

function tail(path: string, from = 0): string {
  return readFileSync(path).subarray(from).toString().split("\n").slice(-30).join("\n");
}
