/*
 * Runs the tests of a checkout: `./boxyard test [--list] [--quick|--long=SECONDS] [-v] [--installed] [SUITE|FILE …]`. `suites/index.ts` is the list.
 * The last line is always `N passed, N failed, N skipped`; the exit code is 0 only when nothing failed.
 */
import { existsSync, rmSync } from "node:fs";
import { compareSnapshots, MEMORY, roomInMemory, type Snapshot, takeSnapshot } from "@boxyard/testkit";
import { readConfig, type ToolsConfig, testDataDirs, withSeconds, withTemporaryDirectory } from "./config.ts";
import { Lanes } from "./lib/lanes.ts";
import { removeLeftovers } from "./lib/leftovers.ts";
import { HELP, parseOptions, type TestOptions } from "./lib/options.ts";
import { inLines, plan } from "./lib/plan.ts";
import { interruptAll, interrupted, MARKER } from "./lib/run.ts";
import { bun, commandRunner, failedOne, SERVER, type Suite, type SuiteContext, type Tally, tallyOf } from "./lib/suite.ts";
import { summaryOf } from "./lib/summary.ts";
import { makeTemporaryDirectory, sweepTemporaryDirectories } from "./lib/temporary.ts";
import { lines, suites } from "./suites/index.ts";
import { tierTable } from "./suites/tiers.ts";

const names = suites.map((suite) => suite.name);

async function main(argv: readonly string[]): Promise<number> {
  const options = parseOptions(argv, names);
  if (options.help) {
    console.log(HELP);
    return 0;
  }
  if (options.list) {
    for (const suite of suites) console.log(`${suite.name.padEnd(11)} ${suite.proves}`);
    console.log(`\n${tierTable()}`);
    return 0;
  }
  const chosen = plan(suites, options.suites, options.only, options.tier);
  const config = readConfig();
  if (config.ci) {
    const runId = crypto.randomUUID();
    for (const line of await removeLeftovers(
      config,
      commandRunner(config, runId, () => performance.now() + LEFTOVERS_LIMIT_MS),
    ))
      console.log(`  ${line}`);
  }
  sweepTemporaryDirectories();
  // Before the look at the room, which a killed run may have left full.
  if (existsSync(MEMORY)) sweepTemporaryDirectories(MEMORY);
  const inMemory = roomInMemory();
  const temporary = makeTemporaryDirectory();
  const memory = inMemory === undefined ? temporary : makeTemporaryDirectory(inMemory);
  try {
    return await runSuites(chosen, options, withTemporaryDirectory(config, temporary, memory));
  } finally {
    for (const path of [temporary, memory]) rmSync(path, { recursive: true, force: true });
  }
}

async function runSuites(chosen: readonly Suite[], options: TestOptions, ownConfig: ToolsConfig): Promise<number> {
  const runId = crypto.randomUUID();
  const marker = `${MARKER}=${runId}`;
  const config = withSeconds(ownConfig, options.seconds);
  const common = {
    config,
    lanes: makeLanes(config, runId),
    marker,
    verbose: options.verbose,
    only: options.only,
    asked: options.suites,
    tier: options.tier,
    seconds: options.seconds,
    installed: options.installed,
    before: config.ci ? await settledSnapshot(marker) : takeSnapshot({ marker }),
    interrupted,
    say: (line: string) => console.log(line),
  };
  const ofEach = lines.map((line) => line.filter((suite) => chosen.includes(suite)));
  const tallies = await inLines(ofEach, (suite, broken) => runSuite(suite, common, runId, broken));
  const summary = summaryOf([...tallies.values()], config.ci);
  for (const line of summary.lines) console.log(line);
  return summary.failed ? 1 : 0;
}

/**
 * What the machine looks like once nothing of it changes any more, or after half a minute. The kernel releases mounts, links and loop devices of
 * processes that were killed a moment ago (those of the session before CI) some time later, and each of them would count as taken away by this run.
 */
async function settledSnapshot(marker: string): Promise<Snapshot> {
  const deadline = performance.now() + 30_000;
  let last = takeSnapshot({ marker });
  for (;;) {
    await Bun.sleep(1_000);
    const next = takeSnapshot({ marker });
    if (compareSnapshots(last, next).length === 0 || performance.now() > deadline) return next;
    last = next;
  }
}

const LEFTOVERS_LIMIT_MS = 600_000;
const LANE_SET_UP_LIMIT_MS = 300_000;

/** One lane for each test platform; the suite `platform` sets the first one up. */
function makeLanes(config: ToolsConfig, runId: string): Lanes {
  const envs = testDataDirs(config).map((dataDir, index) => (index === 0 ? {} : { BOXYARD_DATA: dataDir }));
  return new Lanes(envs, async (env) => {
    const command = commandRunner(config, runId, () => performance.now() + LANE_SET_UP_LIMIT_MS);
    const { failed, output } = tallyOf(await command([bun, SERVER, "setup"], { env }));
    if (failed > 0) throw new Error(`one more test platform could not be set up: ${output}`);
  });
}

function reasonNotToRun(suite: Suite, broken: readonly string[]): string | undefined {
  if (broken.length > 0) return `it needs ${broken.join(" and ")}, which failed`;
  return interrupted.aborted && !suite.always ? "the run was interrupted" : undefined;
}

type Common = Omit<SuiteContext, "command">;

async function runSuite(suite: Suite, common: Common, runId: string, broken: readonly string[]): Promise<Tally> {
  const startedAt = performance.now();
  const command = commandRunner(common.config, runId, () => startedAt + suite.limitMs);
  const reason = reasonNotToRun(suite, broken);
  const tally = reason
    ? failedOne(`not run: ${reason}`)
    : await suite.run({ ...common, command }).catch((error: unknown) => failedOne(Bun.inspect(error)));
  const seconds = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  const counts = `${tally.passed} passed, ${tally.failed} failed, ${tally.skipped.length} skipped`;
  const cpu = tally.cpuMs === undefined ? "" : `  CPU ${(tally.cpuMs / 1000).toFixed(1)} s`;
  console.log(`${tally.failed > 0 ? "✗" : "✓"} ${suite.name.padEnd(11)} ${counts.padEnd(36)} ${seconds.padStart(8)}${cpu}`);
  for (const skip of tally.skipped) console.log(`  skipped ${skip.name}: ${skip.reason}`);
  if (tally.output && (tally.failed > 0 || common.verbose)) console.log(tally.output.trimEnd().replace(/^/gm, "    "));
  return tally.failed > 0 && !tally.failures?.length ? { ...tally, failures: [{ name: suite.name, output: tally.output }] } : tally;
}

for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, interruptAll);
main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    console.log("0 passed, 1 failed, 0 skipped");
    process.exitCode = 1;
  },
);
