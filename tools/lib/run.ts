import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../config.ts";
import { processesWithMarker } from "./processes.ts";

/** Every process that a test run starts carries this variable, so that leftovers are found by it and nobody else's are touched. */
export const MARKER = "BOXYARD_TEST_RUN";
/** How long a command that was asked to end may take before it is made to. */
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
  /** Standard output and error as they came. */
  readonly output: string;
  readonly ms: number;
  /** Time of the CPU that the command and those of its descendants used that somebody waited for. */
  readonly cpuMs: number;
}

/**
 * Runs a command without stdin in a session of its own, its output in a file (so that a leftover child that holds it open delays nothing).
 * At the time limit its process group is asked to end, then it and everything that carries its marker is killed.
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
    // A test file that broke may have left a server, which would hold the data directory that the next file needs.
    if (exitCode !== 0) killLeft(options.marker);
    const output = readFileSync(join(directory, "output"), "utf8");
    const cpuMs = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1000;
    return { exitCode, timedOut, output, ms: performance.now() - startedAt, cpuMs };
  } finally {
    closeSync(log);
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Process groups running now; the runner ends them when it is itself interrupted. */
const active = new Set<number>();

const interruption = new AbortController();
/** Aborted once the run was asked to end; nothing new is started then but what cleans up. */
export const interrupted: AbortSignal = interruption.signal;

/** Asks every command that is running now to end. */
export function interruptAll(): void {
  interruption.abort();
  for (const pid of active) signalGroup(pid, "SIGTERM");
}

async function end(pid: number, exited: Promise<number>, marker: string): Promise<void> {
  signalGroup(pid, "SIGTERM");
  if (await exceeds(exited, GRACE_MS)) signalGroup(pid, "SIGKILL");
  killLeft(marker);
}

/** Kills what a command started and left. */
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
