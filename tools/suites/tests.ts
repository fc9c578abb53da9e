import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, testDataDirs } from "../config.ts";
import { type BunTestOptions, bunTestEach, bunTestTogether, testFiles } from "../lib/bun-test.ts";
import { addTallies, bun, failedOne, SERVER, type Suite, type SuiteContext, type Tally, tallyOf } from "../lib/suite.ts";

const NOT_UNIT = /\.(root|node|hostile)\.test\.ts$|contract\.test\.ts$/;
/** What the suite `hostile` runs, by name: so that an attack needs no entry anywhere, and no suite runs it twice. */
const HOSTILE = ["e2e/isolation/**/*.test.ts", "{e2e,images,packages}/**/*.hostile.test.ts"];
const NOT_E2E = /^e2e\/(agent|chaos|isolation)\/|\.hostile\.test\.ts$/;

const noTest = (): Tally => failedOne("no test ran");

async function together(context: SuiteContext, files: readonly string[], testLimitMs: number, onPlatform = false): Promise<Tally> {
  return files.length > 0 ? bunTestTogether(context, files, { testLimitMs, onPlatform }) : noTest();
}

type Limits = Pick<BunTestOptions, "testLimitMs" | "limitMs" | "env">;

const mentions = (file: string, word: string): boolean => readFileSync(join(ROOT, file), "utf8").includes(word);
/** What compares the whole machine before and after, or sets one up from nothing, must be alone on it. */
const ALONE = ["takeSnapshot", "runSetup"];
const isAlone = (file: string): boolean => ALONE.some((word) => mentions(file, word));
/** Building or importing the code interpreter takes a minute or two on each platform: one lane has it. */
const hasCodeInterpreter = (file: string): boolean => mentions(file, "ensureCodeInterpreter");
/** The longest files of each suite, the longest first: one that began last would keep a single lane busy. A name that is gone does no harm. */
const LONGEST = [
  "checkpoint/faults.root",
  "pool-storage/growth-guard.root",
  "checkpoint/pause.root",
  "snapshots/faults.root",
  "agent/files-fuzz.root",
  "front-door/walk",
  "clients/e2b-python",
  "dockerfiles/dockerfiles",
  "clients/e2b-templates",
  "sdk/sdk",
  "clients/e2b-js",
  "templates/crash",
  "restart/every-transition",
];
function longestFirst(files: readonly string[]): string[] {
  const long = LONGEST.flatMap((part) => files.filter((file) => file.includes(`${part}.test.`)));
  return [...long, ...files.filter((file) => !long.includes(file))];
}
/** Fewer files are not worth the set-up of more platforms. */
const WORTH_LANES = 6;

/** Several files at once, each lane with a platform of its own; then what must be alone. */
async function inLanes(context: SuiteContext, files: readonly string[], limits: Limits): Promise<Tally> {
  const options = { ...limits, onPlatform: true };
  const alone = files.filter(isAlone);
  const beside = files.filter((file) => !alone.includes(file));
  if (files.length === 0) return noTest();
  if (beside.length < WORTH_LANES) return addTallies(await bunTestEach(context, files, options));
  const lanes: Record<string, string>[] = [{}];
  for (const dataDir of testDataDirs(context.config).slice(1)) {
    const lane = { BOXYARD_DATA: dataDir };
    const setUp = tallyOf(await context.command([bun, SERVER, "setup"], { env: lane }));
    if (setUp.failed > 0) return setUp;
    lanes.push(lane);
  }
  const tallies = await bunTestEach(context, longestFirst(beside), { ...options, lanes, together: hasCodeInterpreter });
  return addTallies([...tallies, ...(await bunTestEach(context, alone, options))]);
}

export interface FileSuite extends Suite {
  /** The files it would run. */
  files(only: readonly string[]): string[];
}

export const unit: FileSuite = {
  name: "unit",
  proves: "every part does its job by itself",
  limitMs: 900_000,
  // It waits for more than half of its time, in one process; the lanes of the others use that time.
  beside: ["contract", "root", "agent"],
  files: (only) => testFiles(["packages/*/src/**/*.test.ts", "tools/**/*.test.ts", "bench/**/*.test.ts"], only, NOT_UNIT),
  run: (context) => together(context, unit.files(context.only), 10_000),
};

export const contract: FileSuite = {
  name: "contract",
  proves: "the fake driver keeps the real one's contract, and the store keeps its own on SQLite and on PostgreSQL",
  limitMs: 240_000,
  needs: ["needs"],
  files: (only) => testFiles(["packages/*/src/**/*contract.test.ts"], only),
  run: (context) => together(context, contract.files(context.only), 20_000),
};

export const root: FileSuite = {
  name: "root",
  proves: "the parts that need Linux and root do their job on the real kernel",
  limitMs: 1_800_000,
  needs: ["needs", "platform"],
  files: (only) => testFiles(["packages/*/src/**/*.root.test.ts", "images/**/*.root.test.ts"], only),
  run: (context) => inLanes(context, root.files(context.only), { testLimitMs: 60_000, limitMs: 600_000 }),
};

/** Tests of the agent as users meet it: compiled, in a sandbox of the default template, behind the server. The others start agents of their own. */
const IN_SANDBOX =
  /\/(compose|connect|files-access|files-download|files-upload|filesystem|input|protocol|pty|signal|start|watch)\.root\.test\.ts$/;

export const agent: FileSuite = {
  name: "agent",
  proves: "the agent keeps its contract, line by line, by itself and in a real sandbox",
  limitMs: 1_200_000,
  needs: ["needs", "platform"],
  files: (only) => testFiles(["e2e/agent/**/*.test.ts"], only, /\.hostile\.test\.ts$/),
  run: async (context) => {
    const files = agent.files(context.only);
    const limits = { testLimitMs: 60_000, limitMs: 240_000 };
    const alone = await inLanes(context, files, limits);
    const again = files.filter((file) => IN_SANDBOX.test(file));
    if (again.length === 0) return alone;
    context.say("  the same in sandboxes of the default template:");
    return addTallies([alone, await inLanes(context, again, { ...limits, env: { BOXYARD_TEST_AGENT: "sandbox" } })]);
  },
};

export const e2e: FileSuite = {
  name: "e2e",
  proves: "real clients get what the interface promises, through the front door",
  limitMs: 2_700_000,
  needs: ["needs", "platform"],
  files: (only) => testFiles(["e2e/**/*.test.ts"], only, NOT_E2E),
  run: (context) => inLanes(context, e2e.files(context.only), { testLimitMs: 60_000, limitMs: 600_000 }),
};

export const hostile: FileSuite = {
  name: "hostile",
  proves:
    "what a hostile guest, client, registry or local user tries does not get through (SECURITY.md); --installed: on the running installation",
  limitMs: 1_200_000,
  needs: ["needs", "platform"],
  files: (only) => testFiles(HOSTILE, only),
  run: async (context) => {
    const { installed, config } = context;
    const env = installed ? { BOXYARD_TEST_INSTALLED: config.dataDir } : {};
    const files = hostile.files(context.only);
    return files.length > 0
      ? addTallies(await bunTestEach(context, files, { testLimitMs: 60_000, limitMs: 600_000, env, onPlatform: true }))
      : noTest();
  },
};

export const chaos: FileSuite = {
  name: "chaos",
  proves: "sandboxes survive what kills the server at random (a minute; any length with BOXYARD_CHAOS_SECONDS)",
  limitMs: 24 * 3_600_000,
  needs: ["needs", "platform"],
  files: (only) => testFiles(["e2e/chaos/**/*.test.ts"], only),
  run: (context) => together(context, chaos.files(context.only), 60_000, true),
};
