import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Glob } from "bun";
import { ROOT } from "../config.ts";
import { parseJunit, type TestCase } from "./junit.ts";
import type { RunResult } from "./run.ts";
import { parseSkips, reasonFor } from "./skips.ts";
import { bun, type SuiteContext, type Tally } from "./suite.ts";

const SKIPPED_DIRECTORIES = /(^|\/)(node_modules|dist|\.git)\//;

/** Files of the checkout that match one of `patterns`, sorted; with names given on the command line, only those that contain one. */
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
  /** Limit for one test that sets none of its own. */
  readonly testLimitMs: number;
  /** Limit for the whole call. */
  readonly limitMs?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Files run at once, one in each lane, with the lane's environment besides; one lane by default. */
  readonly lanes?: readonly Readonly<Record<string, string>>[];
}

/** Runs `bun test` on the files in one process and reads its report. */
export async function bunTest(context: SuiteContext, files: readonly string[], options: BunTestOptions): Promise<Tally> {
  const directory = mkdtempSync(join(context.config.env.TMPDIR ?? tmpdir(), "boxyard-junit-"));
  try {
    const report = join(directory, "report.xml");
    const result = await context.command(
      [
        ...[bun, "test", `--timeout=${options.testLimitMs}`, "--reporter=junit", `--reporter-outfile=${report}`],
        ...files.map((file) => `./${file}`),
      ],
      { ...(options.env && { env: options.env }), ...(options.limitMs && { limitMs: options.limitMs }) },
    );
    return tallyReport(result, readReport(report), context);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Runs each file in a process of its own, so that one that hangs or dies takes no other along. */
export async function bunTestEach(context: SuiteContext, files: readonly string[], options: BunTestOptions): Promise<Tally[]> {
  const { lanes = [{}] } = options;
  const queue = [...files];
  const tallies: Tally[] = [];
  const work = async (lane: Readonly<Record<string, string>>) => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      tallies.push(await oneFile(context, file, { ...options, env: { ...options.env, ...lane } }));
    }
  };
  await Promise.all(lanes.map(work));
  return tallies;
}

async function oneFile(context: SuiteContext, file: string, options: BunTestOptions): Promise<Tally> {
  const startedAt = performance.now();
  let tally = await bunTest(context, [file], options);
  if (tally.failed > 0) tally = await again(context, file, options, tally);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  context.say(`  ${tally.failed > 0 ? "✗" : "·"} ${file}  ${tally.passed} passed, ${tally.failed} failed  ${seconds} s`);
  return tally;
}

/**
 * A second try of a file that failed. The machines are shared, and a test over real processes now and then meets a moment in which
 * nothing runs for a second. What fails twice has failed; what passes is named, so that nobody gets used to it (docs/flake-patterns.md).
 */
async function again(context: SuiteContext, file: string, options: BunTestOptions, first: Tally): Promise<Tally> {
  context.say(`  ~ ${file}  ${first.failed} failed, trying once more\n${first.output.trimEnd().replace(/^/gm, "    ")}`);
  const second = await bunTest(context, [file], options);
  if (second.failed > 0) return second;
  context.say(`  ~ ${file}  UNSTABLE: passed the second time`);
  return { ...second, unstable: [file] };
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

/** The report's counts; what the report can't show (a file that did not load, a crash, a time limit) counts as one failure more. */
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
    skipped: skips.map((name) => ({ name, reason: reasonFor(name, allowed) ?? "not listed in docs/skips.md" })),
    output: [failed > 0 ? withoutPasses(result.output) : "", ...notes].filter(Boolean).join("\n"),
  };
}
