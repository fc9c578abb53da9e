import { join } from "node:path";
import { SERVER_PROGRAMS, type Snapshot } from "@boxyard/testkit";
import { ROOT, type ToolsConfig } from "../config.ts";
import type { Tier } from "../suites/tiers.ts";
import type { Lanes } from "./lanes.ts";
import { MARKER, type RunResult, run } from "./run.ts";

export interface Skip {
  readonly name: string;
  readonly reason: string;
}

/** What failed at first: a test file, also one that passed in a later run, or a suite without files. */
export interface Failure {
  readonly name: string;
  /** What was printed when it failed the first time. */
  readonly output: string;
}

/** The result of a suite. Each check and each test case counts as one. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly Skip[];
  /** Shown if something failed, and with `-v`. */
  readonly output: string;
  /** Test files that failed, and passed in a later run. */
  readonly unstable?: readonly string[];
  /** How many test files ran; a file counts once. */
  readonly files?: number;
  /** Printed again at the end of the run, because CI keeps only the end of its output. */
  readonly failures?: readonly Failure[];
  /** CPU time of the commands of the suite and of their descendants. Absent if the suite started no command. */
  readonly cpuMs?: number;
}

/** What a suite gets when it runs. */
export interface SuiteContext {
  readonly config: ToolsConfig;
  readonly verbose: boolean;
  /** Only test files whose path contains one of these; empty: all. */
  readonly only: readonly string[];
  /** The suites that the call names. */
  readonly asked: readonly string[];
  /** Which files a suite runs when `only` is empty. */
  readonly tier: Tier;
  /** The time that was given for the tier `long`. */
  readonly seconds: number | undefined;
  /** Runs a command within the suite's time limit, marked as started by this test run. */
  command(argv: readonly string[], options?: CommandOptions): Promise<RunResult>;
  /** True: `hostile` attacks the installation of this machine. False: it attacks a server that the tests start. */
  readonly installed: boolean;
  /** What the machine looked like before any test ran. */
  readonly before: Snapshot;
  /** Beginning of an environment entry that every process of this run has, and no other process. */
  readonly marker: string;
  /** The platforms that the test files of all suites share. */
  readonly lanes: Lanes;
  /** Aborted when the run is interrupted. From then on the run only starts suites that clean up. */
  readonly interrupted: AbortSignal;
  /** A line of progress. */
  say(line: string): void;
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly limitMs?: number;
}

export interface Suite {
  readonly name: string;
  /** What a pass proves, in one line. */
  readonly proves: string;
  readonly limitMs: number;
  /** Suites that must pass before this one. It begins when they have ended, and a call that names it runs them too. */
  readonly needs?: readonly string[];
  /** True: runs after all other suites if one of them changed the machine, even if one failed and even if the call does not name this one. */
  readonly always?: boolean;
  run(context: SuiteContext): Promise<Tally>;
}

export const passedOne = (output = ""): Tally => ({ passed: 1, failed: 0, skipped: [], output });
export const failedOne = (output: string): Tally => ({ passed: 0, failed: 1, skipped: [], output });

/** A command that passes when it exits with 0. */
export function tallyOf(result: RunResult): Tally {
  const { cpuMs } = result;
  if (result.exitCode === 0 && !result.timedOut) return { ...passedOne(result.output), cpuMs };
  const why = result.timedOut ? `did not end within its time limit (${Math.round(result.ms / 1000)} s)` : `exit code ${result.exitCode}`;
  return { ...failedOne(`${result.output.trimEnd()}\n${why}`), cpuMs };
}

export function addTallies(tallies: readonly Tally[]): Tally {
  const cpuMs = tallies.flatMap((tally) => tally.cpuMs ?? []);
  return {
    ...(cpuMs.length > 0 && { cpuMs: cpuMs.reduce((sum, ms) => sum + ms, 0) }),
    passed: tallies.reduce((sum, tally) => sum + tally.passed, 0),
    failed: tallies.reduce((sum, tally) => sum + tally.failed, 0),
    skipped: tallies.flatMap((tally) => tally.skipped),
    unstable: tallies.flatMap((tally) => tally.unstable ?? []),
    files: tallies.reduce((sum, tally) => sum + (tally.files ?? 0), 0),
    failures: tallies.flatMap((tally) => tally.failures ?? []),
    output: tallies
      .map((tally) => tally.output.trimEnd())
      .filter(Boolean)
      .join("\n"),
  };
}

export const bun = process.execPath;
/** The server's program, which also sets up and releases a platform. */
export const SERVER = SERVER_PROGRAMS.plain;

/** Path of a program that came with an npm package of this platform, for instance `biome`. */
export function npmBinary(tool: "biome" | "buf" | "tsc"): string {
  const arm = process.arch === "arm64";
  const paths = {
    biome: `node_modules/@biomejs/cli-linux-${arm ? "arm64" : "x64"}/biome`,
    buf: `node_modules/@bufbuild/buf-linux-${arm ? "aarch64" : "x64"}/bin/buf`,
    tsc: "node_modules/.bin/tsc",
  };
  return join(ROOT, paths[tool]);
}

let commands = 0;

/** The environment of a command: that of this process, with the directories of the test platform and without colours. */
export function childEnv(config: ToolsConfig): Record<string, string | undefined> {
  return {
    ...config.env,
    BOXYARD_DATA: config.testDataDir,
    BOXYARD_CACHE: config.cacheDir,
    BOXYARD_LISTEN: "127.0.0.1:0",
    NO_COLOR: "1",
    FORCE_COLOR: "0",
  };
}

export function commandRunner(config: ToolsConfig, runId: string, deadline: () => number): SuiteContext["command"] {
  return (argv, options = {}) => {
    const left = deadline() - performance.now();
    return run(argv, {
      limitMs: Math.max(1, Math.min(options.limitMs ?? left, left)),
      ...(options.cwd && { cwd: options.cwd }),
      env: { ...childEnv(config), ...options.env },
      marker: `${runId}.${++commands}`,
    });
  };
}

export { MARKER };
