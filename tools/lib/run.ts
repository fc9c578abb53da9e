import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../config.ts";
import { processesWithMarker } from "./processes.ts";

/** Every process that a test run starts has this variable in its environment. The run finds by it what is left behind, and ends no other process. */
export const MARKER = "BOXYARD_TEST_RUN";
/** Time between SIGTERM and SIGKILL for a command. */
const GRACE_MS = 5_000;

export interface RunOptions {
  readonly limitMs: number;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Value of the marker variable; unique for each command, so that a time limit ends only what this command started. */
  readonly marker: string;
}

export interface RunResult {
  readonly exitCode: number;
  readonly timedOut: boolean;
  /** Standard output and standard error together, in the order of arrival. */
  readonly output: string;
  readonly ms: number;
  /** CPU time of the command and of its descendants, except those that no process waited for. */
  readonly cpuMs: number;
}

/**
 * Runs a command without stdin in a session of its own. Its output goes to a file, so that a child that outlives the command and holds the output
 * open does not delay the result. At the time limit its process group gets SIGTERM; then the group and every process with its marker is killed.
 */
export async function run(argv: readonly string[], options: RunOptions): Promise<RunResult> {
  const startedAt = performance.now();
  const directory = mkdtempSync(join(options.env?.TMPDIR ?? tmpdir(), "boxyard-run-"));
  const log = openSync(join(directory, "output"), "w");
  try {
    const child = Bun.spawn([...argv], {
      cwd: options.cwd ?? ROOT,
      env: { ...options.env, [MARKER]: options.marker },
      stdin: "ignore",
      stdout: log,
      stderr: log,
      detached: true,
    });
    active.add(child.pid);
    const timedOut = await exceeds(child.exited, options.limitMs);
    if (timedOut) await end(child.pid, child.exited, options.marker);
    const exitCode = await child.exited;
    active.delete(child.pid);
    // A test file that failed may have left a server, which would lock the data directory that the next file needs.
    if (exitCode !== 0) killLeft(options.marker);
    const output = readFileSync(join(directory, "output"), "utf8");
    const cpuMs = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1000;
    return { exitCode, timedOut, output, ms: performance.now() - startedAt, cpuMs };
  } finally {
    closeSync(log);
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Process groups that run now. When the runner is interrupted, it ends them. */
const active = new Set<number>();

const interruption = new AbortController();
/** Aborted when the run is interrupted. From then on the run only starts suites that clean up. */
export const interrupted: AbortSignal = interruption.signal;

/** Sends SIGTERM to every command that runs now. */
export function interruptAll(): void {
  interruption.abort();
  for (const pid of active) signalGroup(pid, "SIGTERM");
}

async function end(pid: number, exited: Promise<number>, marker: string): Promise<void> {
  signalGroup(pid, "SIGTERM");
  if (await exceeds(exited, GRACE_MS)) signalGroup(pid, "SIGKILL");
  killLeft(marker);
}

/** Kills the processes that a command started and left behind. */
function killLeft(marker: string): void {
  for (const { pid } of processesWithMarker(`${MARKER}=${marker}\0`)) signal(pid, "SIGKILL");
}

async function exceeds(done: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: Timer | undefined;
  const late = new Promise<true>((resolve) => {
    timer = setTimeout(() => resolve(true), ms);
  });
  const result = await Promise.race([done.then(() => false as const), late]);
  clearTimeout(timer);
  return result;
}

function signalGroup(pid: number, name: NodeJS.Signals): void {
  signal(-pid, name);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended already.
  }
}
