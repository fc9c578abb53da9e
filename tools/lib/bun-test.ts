import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Glob } from "bun";
import { ROOT } from "../config.ts";
import { parseJunit, type TestCase } from "./junit.ts";
import type { LaneUse, Place } from "./lanes.ts";
import type { RunResult } from "./run.ts";
import { parseSkips, reasonFor } from "./skips.ts";
import { addTallies, bun, failedOne, type SuiteContext, type Tally } from "./suite.ts";
import { tidyUp } from "./tidy.ts";

const SKIPPED_DIRECTORIES = /(^|\/)(node_modules|dist|\.git)\//;

/** Files of the checkout that match one of `patterns`, sorted. If `only` is not empty, only files whose path contains one of its entries. */
export function testFiles(patterns: readonly string[], only: readonly string[], except?: RegExp): string[] {
  const found = new Set<string>();
  for (const pattern of patterns) {
    for (const path of new Glob(pattern).scanSync({ cwd: ROOT, onlyFiles: true })) {
      if (!SKIPPED_DIRECTORIES.test(path) && !except?.test(path)) found.add(path);
    }
  }
  return [...found].sort().filter((path) => only.length === 0 || only.some((part) => path.includes(part)));
}

export interface BunTestOptions {
  /** Limit for a test that does not set its own. */
  readonly testLimitMs: number;
  /** Limit for the whole call. */
  readonly limitMs?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** How many processes share the files, each of them many; one by default. */
  readonly processes?: number;
}

interface EachOptions extends BunTestOptions {
  /** The lane of each file and its order; any lane by default. */
  readonly place?: (file: string) => Place;
  /** Follows the name of a file in the lines of progress. */
  readonly label?: string;
}

interface Report {
  readonly result: RunResult;
  readonly cases: readonly TestCase[];
}

/** Runs `bun test` on the files and reads its report. */
async function bunTest(context: SuiteContext, files: readonly string[], options: BunTestOptions): Promise<Tally> {
  const { result, cases } = await report(context, files, options);
  return tallyReport(result, cases, context);
}

async function report(context: SuiteContext, files: readonly string[], options: BunTestOptions): Promise<Report> {
  const directory = mkdtempSync(join(context.config.env.TMPDIR ?? tmpdir(), "boxyard-junit-"));
  try {
    const path = join(directory, "report.xml");
    const result = await context.command(
      [
        ...[bun, "test", `--timeout=${options.testLimitMs}`, "--reporter=junit", `--reporter-outfile=${path}`],
        // What the files import is loaded once in each process, not once for each file.
        ...(options.processes ? [`--parallel=${options.processes}`, "--no-isolate"] : []),
        ...files.map((file) => `./${file}`),
      ],
      { ...(options.env && { env: options.env }), ...(options.limitMs && { limitMs: options.limitMs }) },
    );
    return { result, cases: readReport(path) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/**
 * Runs all files in the processes of one call. Each file in which a test failed runs again, in a process of its own, as with `bunTestEach`. If the call
 * itself failed, so that the report names no test, all files run a second time.
 */
export async function bunTestTogether(context: SuiteContext, files: readonly string[], options: BunTestOptions): Promise<Tally> {
  const { result, cases } = await report(context, files, options);
  const first = tallyReport(result, cases, context);
  if (first.failed === 0) return { ...first, files: files.length };
  const failed = files.filter((file) => cases.some((test) => test.file === file && test.outcome === "failed"));
  if (failed.length === 0) return { ...(await again(context, files, options, first)), files: files.length };
  const kept = cases.filter((test) => !failed.includes(test.file));
  const rest = kept.length > 0 ? [tallyReport({ ...result, exitCode: 0 }, kept, context)] : [];
  const seconds: Tally[] = [];
  const { processes: _, ...alone } = options;
  for (const file of failed) {
    const second = await again(context, [file], alone, { ...first, output: sectionOf(first.output, file) });
    seconds.push(second.failed > 0 && hasThirdRun(context) ? await again(context, [file], alone, second) : second);
  }
  return { ...addTallies([...rest, ...seconds]), files: files.length };
}

/** What `bun test` printed of one file of several: the lines from its name on. The whole output if its name is not in it. */
function sectionOf(output: string, file: string): string {
  const lines = output.split("\n");
  const start = lines.indexOf(`${file}:`);
  if (start < 0) return output;
  const length = lines.slice(start + 1).findIndex((line) => /^\S+\.test\.ts:$/.test(line));
  return lines.slice(start, length < 0 ? undefined : start + 1 + length).join("\n");
}

/** Runs each file in a process of its own, on the lanes that all suites share. A file that hangs or crashes does not affect the others. */
export async function bunTestEach(context: SuiteContext, files: readonly string[], options: EachOptions): Promise<Tally> {
  const placeOf = options.place ?? (() => ({ alone: false, first: false, rank: 0 }));
  const oneOf = async (file: string) => {
    const place = placeOf(file);
    const first = await context.lanes.run(place, (use) => oneFile(context, file, options, use));
    if (first.failed === 0 || !hasThirdRun(context)) return first;
    return context.lanes.run({ ...place, alone: true }, (use) => oneFile(context, file, options, use, first));
  };
  return addTallies(await Promise.all(files.map(oneOf)));
}

/**
 * On a CI machine a file that failed twice runs a third and last time; one with a platform runs then when no other file runs. The work of a whole
 * submission depends on it. A person who runs a file that fails has no use for its third failure.
 */
const hasThirdRun = ({ config, interrupted }: SuiteContext): boolean => config.ci && !interrupted.aborted;

/** Runs a file, and once more if it fails. With `before`, the result of both these runs, it runs once. */
async function oneFile(context: SuiteContext, file: string, options: EachOptions, use: LaneUse, before?: Tally): Promise<Tally> {
  if (context.interrupted.aborted) return before ?? failedOne(`${file}: not run: the run was interrupted`);
  const startedAt = performance.now();
  const here = { ...options, env: { ...options.env, ...use.env } };
  // What a failed file leaves behind is removed before the next file begins, and before its own next run.
  const tidy = () => tidyUp(context, here.env, use.isOnly);
  let tally = before ?? (await bunTest(context, [file], here));
  if (tally.failed > 0) tally = await again(context, [file], here, tally, tidy);
  tally = { ...tally, files: 1 };
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const cpu = ((tally.cpuMs ?? 0) / 1000).toFixed(1);
  const name = `${file}${options.label ?? ""}`;
  context.say(`  ${tally.failed > 0 ? "✗" : "·"} ${name}  ${tally.passed} passed, ${tally.failed} failed  ${seconds} s, CPU ${cpu} s`);
  return tally;
}

/**
 * One more run of files that failed. The machines are shared, so now and then nothing runs for a second, and a test over real processes fails.
 * A file that passes in a later run is named in the summary, so that its fault is found (docs/flake-patterns.md).
 */
async function again(
  context: SuiteContext,
  files: readonly string[],
  options: BunTestOptions,
  first: Tally,
  tidy: () => Promise<void> = async () => {},
): Promise<Tally> {
  const name = files.length === 1 ? files[0] : `all ${files.length} files`;
  const failure = first.output.trimEnd().replace(/^/gm, "    ");
  if (context.interrupted.aborted) return first;
  const failures = first.failures ?? [{ name: `${name}`, output: first.output }];
  context.say(`  ~ ${name}  ${first.failed} failed, trying once more\n${failure}`);
  await tidy();
  const second = await bunTest(context, files, options);
  if (second.failed > 0) {
    await tidy();
    return { ...second, failures };
  }
  context.say(`  ~ ${name}  UNSTABLE: passed in a later run`);
  return { ...second, unstable: [`${name}`], failures };
}

function readReport(path: string): TestCase[] {
  try {
    return parseJunit(readFileSync(path, "utf8"));
  } catch {
    return [];
  }
}

/** What `bun test` printed, without the line of each test that passed. */
const withoutPasses = (output: string): string => output.replace(/^\(pass\) .*\n/gm, "").trimEnd();

/** The counts of the report. A failure that the report does not show (a file that did not load, a crash, a time limit) is added to them. */
export function tallyReport(result: RunResult, cases: readonly TestCase[], context: Pick<SuiteContext, "config">): Tally {
  const count = (outcome: TestCase["outcome"]) => cases.filter((test) => test.outcome === outcome).length;
  const allowed = parseSkips(readFileSync(join(ROOT, "docs/skips.md"), "utf8"));
  const skips = cases.filter((test) => test.outcome === "skipped").map((test) => `${test.file}: ${test.name}`);
  const notes: string[] = [];
  let failed = count("failed");
  if (result.timedOut) notes.push(`did not end within its time limit (${Math.round(result.ms / 1000)} s)`);
  else if (result.exitCode !== 0 && failed === 0) notes.push(`ended with ${result.exitCode} though no test case failed`);
  if (context.config.ci) {
    for (const name of skips) if (!reasonFor(name, allowed)) notes.push(`skipped but not listed in docs/skips.md: ${name}`);
  }
  if (cases.length === 0 && notes.length === 0) notes.push("no test ran");
  failed += notes.length;
  return {
    passed: count("passed"),
    failed,
    cpuMs: result.cpuMs,
    skipped: skips.map((name) => ({ name, reason: reasonFor(name, allowed) ?? "not listed in docs/skips.md" })),
    output: [failed > 0 ? withoutPasses(result.output) : "", ...notes].filter(Boolean).join("\n"),
  };
}
