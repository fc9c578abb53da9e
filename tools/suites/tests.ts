import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../config.ts";
import { type BunTestOptions, bunTestEach, bunTestTogether, testFiles } from "../lib/bun-test.ts";
import type { Place } from "../lib/lanes.ts";
import { addTallies, bun, failedOne, type Suite, type SuiteContext, type Tally, tallyOf } from "../lib/suite.ts";
import { filesIn } from "./tiers.ts";

const NOT_UNIT = /\.(root|node|hostile|kubernetes)\.test\.ts$|contract\.test\.ts$/;
/** The files of the suite `hostile`, by name: a new attack is found without an entry in a list, and only one suite runs it. */
const HOSTILE = ["e2e/isolation/**/*.test.ts", "{e2e,images,packages}/**/*.hostile.test.ts"];
const NOT_E2E = /^e2e\/(agent|chaos|isolation)\/|\.(hostile|kubernetes)\.test\.ts$/;

/**
 * Limits of a test that does not set its own. A test that hangs is the only one that they are to end, so they are longer than the longest wait for a
 * state (30 s, `eventually`) on a machine that other programs keep busy.
 */
const TEST_LIMIT_MS = { unit: 60_000, platform: 120_000 } as const;

const noTest = (): Tally => failedOne("no test ran");

/** One for each processor of a small machine. Each loads the server once, and other suites run at the same time. */
const PROCESSES = 2;

async function together(context: SuiteContext, files: readonly string[], testLimitMs: number): Promise<Tally> {
  return files.length > 0 ? bunTestTogether(context, files, { testLimitMs, processes: PROCESSES }) : noTest();
}

const mentions = (file: string, word: string): boolean => readFileSync(join(ROOT, file), "utf8").includes(word);
/** A file that compares the whole machine must run alone. */
const isAlone = (file: string): boolean => mentions(file, "settledDifferences(");
/** To build or import the code interpreter takes one or two minutes on each platform, so only one lane does it. */
const hasCodeInterpreter = (file: string): boolean => mentions(file, "ensureCodeInterpreter");
/** The longest files, the longest first: a long file that begins last keeps one lane busy while the others are idle. An entry without a file has no effect. */
const LONGEST = [
  "restart/every-transition",
  "network/matrix",
  "front-door/walk",
  "clients/e2b-python",
  "checkpoint/faults.root",
  "front-door/full-disk",
  "sdk/sdk",
  "dockerfiles/dockerfiles",
  "clients/e2b-templates",
  "faults/hangs",
  "chaos/chaos",
  "pool-storage/growth-guard.root",
  "clients/e2b-js",
  "snapshots/faults.root",
  "pool-storage/allocate-ahead.root",
  "restart/ten-rounds",
  "images/registry.root",
  "clients/e2b-cli",
  "clients/e2b-older",
  "setup/setup.root",
  "templates/crash",
];

function placeOf(file: string): Place {
  const rank = LONGEST.findIndex((part) => file.includes(`${part}.test.`));
  return { alone: isAlone(file), first: hasCodeInterpreter(file), rank: rank < 0 ? LONGEST.length : rank };
}

/** Runs each file on an idle lane. */
async function inLanes(context: SuiteContext, files: readonly string[], options: BunTestOptions & { label?: string }): Promise<Tally> {
  return files.length > 0 ? bunTestEach(context, files, { ...options, place: placeOf }) : noTest();
}

/** Includes the time in which the files wait for lanes that other suites use. */
const IN_LANES_LIMIT_MS = 3_600_000;

/** The longest time of a suite that runs as long as it is told. */
const MOST_LONG_MS = 24 * 3_600_000;

export interface FileSuite extends Suite {
  /** All files of the suite; if `only` is not empty, those whose path contains one of its entries. */
  files(only: readonly string[]): string[];
}

/** The files that a call runs: those that it names, or those of its tier. */
const chosen = (suite: FileSuite, { only, tier }: SuiteContext): string[] => {
  const files = suite.files(only);
  return only.length > 0 ? files : filesIn(tier, suite.name, files);
};

export const unit: FileSuite = {
  name: "unit",
  proves: "every part works by itself",
  limitMs: 900_000,
  files: (only) => testFiles(["packages/*/src/**/*.test.ts", "tools/**/*.test.ts", "bench/**/*.test.ts"], only, NOT_UNIT),
  run: (context) => together(context, chosen(unit, context), TEST_LIMIT_MS.unit),
};

export const contract: FileSuite = {
  name: "contract",
  proves: "the fake driver fulfils the contract of the real driver, and the store fulfils its contract on SQLite and on PostgreSQL",
  limitMs: 600_000,
  needs: ["needs"],
  files: (only) => testFiles(["packages/*/src/**/*contract.test.ts"], only),
  run: (context) => together(context, chosen(contract, context), TEST_LIMIT_MS.unit),
};

export const root: FileSuite = {
  name: "root",
  proves: "the parts that need Linux and root work on the real kernel",
  limitMs: IN_LANES_LIMIT_MS,
  needs: ["needs", "platform"],
  files: (only) => testFiles(["packages/*/src/**/*.root.test.ts", "images/**/*.root.test.ts"], only),
  run: (context) => inLanes(context, chosen(root, context), { testLimitMs: TEST_LIMIT_MS.platform, limitMs: 600_000 }),
};

/** Files that also test the compiled agent in a sandbox of the default template, behind the server. The others start the agent themselves. */
const IN_SANDBOX =
  /\/(compose|connect|files-access|files-download|files-upload|filesystem|input|protocol|pty|signal|start|watch)\.root\.test\.ts$/;

export const agent: FileSuite = {
  name: "agent",
  proves: "the agent fulfils every line of its contract, as a process on the machine and in a real sandbox",
  limitMs: IN_LANES_LIMIT_MS,
  needs: ["needs", "platform"],
  files: (only) => testFiles(["e2e/agent/**/*.test.ts"], only, /\.hostile\.test\.ts$/),
  run: async (context) => {
    const files = chosen(agent, context);
    const limits = { testLimitMs: TEST_LIMIT_MS.platform, limitMs: 480_000 };
    const inSandbox = { ...limits, env: { BOXYARD_TEST_AGENT: "sandbox" }, label: " in a sandbox of the default template" };
    const again = files.filter((file) => IN_SANDBOX.test(file));
    const tallies = [inLanes(context, files, limits), ...(again.length > 0 ? [inLanes(context, again, inSandbox)] : [])];
    return addTallies(await Promise.all(tallies));
  },
};

export const e2e: FileSuite = {
  name: "e2e",
  proves: "real clients get what the interface documents, through the public HTTP API",
  limitMs: IN_LANES_LIMIT_MS,
  needs: ["needs", "platform"],
  files: (only) => testFiles(["e2e/**/*.test.ts"], only, NOT_E2E),
  run: (context) => inLanes(context, chosen(e2e, context), { testLimitMs: TEST_LIMIT_MS.platform, limitMs: 600_000 }),
};

export const hostile: FileSuite = {
  name: "hostile",
  proves:
    "attacks by a hostile guest, client, registry or local user fail (SECURITY.md); with --installed: attacks on the running installation",
  limitMs: IN_LANES_LIMIT_MS,
  needs: ["needs", "platform"],
  files: (only) => testFiles(HOSTILE, only),
  run: async (context) => {
    const { installed, config } = context;
    const env = installed ? { BOXYARD_TEST_INSTALLED: config.dataDir } : {};
    return inLanes(context, chosen(hostile, context), { testLimitMs: TEST_LIMIT_MS.platform, limitMs: 600_000, env });
  },
};

export const chaos: FileSuite = {
  name: "chaos",
  proves: "sandboxes survive a server that is killed at random times (for one minute; --long sets another time)",
  limitMs: MOST_LONG_MS,
  needs: ["needs", "platform"],
  files: (only) => testFiles(["e2e/chaos/**/*.test.ts"], only),
  run: (context) => inLanes(context, chosen(chaos, context), { testLimitMs: TEST_LIMIT_MS.platform }),
};

export const soak: Suite = {
  name: "soak",
  proves: "nothing is lost, nothing does not end and nothing is left while clients use sandboxes, for the time of --long",
  limitMs: MOST_LONG_MS,
  needs: ["needs", "platform"],
  run: async ({ command, seconds }) => tallyOf(await command([bun, join(ROOT, "bench/run.ts"), "soak", "--count", `${seconds ?? 60}`])),
};
