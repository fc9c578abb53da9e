import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { readConfig } from "../config.ts";
import { bunTestEach, bunTestTogether, tallyReport } from "./bun-test.ts";
import type { TestCase } from "./junit.ts";
import { Lanes } from "./lanes.ts";
import { addTallies, type SuiteContext } from "./suite.ts";

const ended = (exitCode: number, timedOut = false) => ({ exitCode, timedOut, output: "text", ms: 2_000, cpuMs: 500 });
const passed: TestCase = { file: "a.test.ts", name: "works", outcome: "passed" };
const skipped: TestCase = { file: "a.test.ts", name: "is not listed anywhere", outcome: "skipped" };
const here = { config: readConfig({}) };
const onCi = { config: readConfig({ CI: "true" }) };

test("takes the counts of the report", () => {
  expect(tallyReport(ended(0), [passed, passed], here)).toEqual({ passed: 2, failed: 0, skipped: [], output: "", cpuMs: 500 });
});

test("the CPU times of tallies are added; the sum is unknown if no tally has one", () => {
  const tally = tallyReport(ended(0), [passed], here);
  const { cpuMs: _, ...unmeasured } = tally;
  expect(addTallies([tally, unmeasured, tally]).cpuMs).toBe(1_000);
  expect(addTallies([unmeasured]).cpuMs).toBeUndefined();
});

test("a crash after passing tests is a failure", () => {
  expect(tallyReport(ended(133), [passed], here)).toMatchObject({ passed: 1, failed: 1 });
});

test("no test at all is a failure", () => {
  expect(tallyReport(ended(0), [], here)).toMatchObject({ passed: 0, failed: 1, output: expect.stringContaining("no test ran") });
});

test("a time limit is a failure and says so", () => {
  expect(tallyReport(ended(143, true), [passed], here).output).toContain("time limit (2 s)");
});

test("a skipped test without an entry in docs/skips.md is a failure on a CI machine only", () => {
  expect(tallyReport(ended(0), [passed, skipped], here)).toMatchObject({ failed: 0 });
  expect(tallyReport(ended(0), [passed, skipped], onCi)).toMatchObject({ failed: 1 });
});

/** The parts of the context besides `command`: one lane, with an environment entry of its own. */
const around = () => ({
  ...here,
  lanes: new Lanes([{ LANE: "1" }], async () => {}),
  interrupted: new AbortController().signal,
  say: () => {},
});

test("each file runs once, in the order of its rank, with the environment of the suite and of the lane", async () => {
  const started: string[] = [];
  const command = async (argv: readonly string[], options?: { env?: Readonly<Record<string, string>> }) => {
    started.push(`${options?.env?.LANE} ${options?.env?.OWN} ${argv.at(-1)}`);
    writeReport(argv, testCase("", false));
    return ended(0);
  };
  const context = { ...around(), command } as unknown as SuiteContext;
  const place = (file: string) => ({ alone: false, first: false, rank: file.startsWith("long") ? 0 : 1 });
  const tally = await bunTestEach(context, ["a.test.ts", "b.test.ts", "long.test.ts"], { testLimitMs: 1, env: { OWN: "2" }, place });
  expect(started).toEqual(["1 2 ./long.test.ts", "1 2 ./a.test.ts", "1 2 ./b.test.ts"]);
  expect(tally).toMatchObject({ passed: 3, failed: 0 });
});

test("after an interruption of the run no file begins, and none runs a second time", async () => {
  const interruption = new AbortController();
  const started: string[] = [];
  const command = async (argv: readonly string[]) => {
    started.push(`${argv.at(-1)}`);
    interruption.abort();
    return ended(143);
  };
  const context = { ...around(), interrupted: interruption.signal, command } as unknown as SuiteContext;
  const tally = await bunTestEach(context, ["a.test.ts", "b.test.ts"], { testLimitMs: 1 });
  expect(started).toEqual(["./a.test.ts"]);
  expect(tally).toMatchObject({ passed: 0, failed: 2, output: expect.stringContaining("b.test.ts: not run: the run was interrupted") });
});

test("what a failed file has left is removed before its second run", async () => {
  const calls: string[] = [];
  const command = async (argv: readonly string[]) => {
    calls.push(argv.includes("test") ? "test" : `${argv[2]}`);
    if (argv.includes("test")) writeReport(argv, testCase("a.test.ts", calls.length === 1));
    return ended(calls.length === 1 ? 1 : 0);
  };
  const context = { ...around(), command } as unknown as SuiteContext;
  const tally = await bunTestEach(context, ["a.test.ts"], { testLimitMs: 1 });
  expect(calls).toEqual(["test", "release", "setup", "test"]);
  const failures = [{ name: "a.test.ts", output: "text" }];
  expect(tally).toMatchObject({ passed: 1, failed: 0, files: 1, unstable: ["a.test.ts"], failures });
});

function writeReport(argv: readonly string[], text: string): void {
  writeFileSync(`${argv.find((word) => word.startsWith("--reporter-outfile="))?.split("=")[1]}`, `<testsuites>${text}</testsuites>`);
}

/** A context whose `bun test` writes the report that `xml` makes from the files and the number of the run. */
function reporting(xml: (files: readonly string[], attempt: number) => string): { context: SuiteContext; runs: string[][] } {
  const runs: string[][] = [];
  const command = async (argv: readonly string[]) => {
    const files = argv.filter((word) => word.startsWith("./")).map((word) => word.slice(2));
    runs.push(files);
    const text = xml(files, runs.length);
    writeReport(argv, text);
    return ended(text === "" ? 133 : text.includes("<failure") ? 1 : 0);
  };
  return { context: { ...around(), command } as unknown as SuiteContext, runs };
}

const testCase = (file: string, failed: boolean): string =>
  `<testcase name="works" file="${file}">${failed ? "<failure/>" : ""}</testcase>`;

test("of files that run together, the failed ones run a second time, and the others count once", async () => {
  const { context, runs } = reporting((files, attempt) =>
    files.map((file) => testCase(file, attempt === 1 && file === "b.test.ts")).join(""),
  );
  const tally = await bunTestTogether(context, ["a.test.ts", "b.test.ts"], { testLimitMs: 1 });
  expect(runs).toEqual([["a.test.ts", "b.test.ts"], ["b.test.ts"]]);
  expect(tally).toMatchObject({ passed: 2, failed: 0, files: 2, unstable: ["b.test.ts"], failures: [{ name: "b.test.ts" }] });
});

test("files that share processes run again in one of their own", async () => {
  const shared: boolean[] = [];
  const command = async (argv: readonly string[]) => {
    shared.push(argv.includes("--parallel=2"));
    writeReport(argv, testCase("a.test.ts", shared.length === 1));
    return ended(shared.length === 1 ? 1 : 0);
  };
  const tally = await bunTestTogether({ ...around(), command } as unknown as SuiteContext, ["a.test.ts"], { testLimitMs: 1, processes: 2 });
  expect(shared).toEqual([true, false]);
  expect(tally).toMatchObject({ passed: 1, failed: 0, unstable: ["a.test.ts"] });
});

test.each([
  [false, 2],
  [true, 3],
])("with CI=%p a file with a platform that fails runs %i times, the last time alone, and has failed", async (ci, runs) => {
  const alone: boolean[] = [];
  const lanes = new Lanes([{ LANE: "1" }, { LANE: "2" }], async () => {});
  const run = lanes.run.bind(lanes);
  lanes.run = (place, work) => {
    alone.push(place.alone);
    return run(place, work);
  };
  let tests = 0;
  const command = async (argv: readonly string[]) => {
    if (!argv.includes("test")) return ended(0);
    writeReport(argv, testCase("a.test.ts", true));
    return { ...ended(1), output: `run ${++tests}` };
  };
  const context = { ...around(), config: readConfig(ci ? { CI: "true" } : {}), lanes, command } as unknown as SuiteContext;
  const tally = await bunTestEach(context, ["a.test.ts"], { testLimitMs: 1 });
  expect([tests, alone]).toEqual([runs, ci ? [false, true] : [false]]);
  expect(tally).toMatchObject({ failed: 1, files: 1, unstable: [], failures: [{ name: "a.test.ts", output: "run 1" }] });
});

test("a file that passes only in its third run is named as unstable, with its first failure", async () => {
  const { context, runs } = reporting((files, attempt) => files.map((file) => testCase(file, attempt < 3)).join(""));
  const tally = await bunTestTogether({ ...context, ...onCi } as SuiteContext, ["a.test.ts"], { testLimitMs: 1 });
  expect(runs.length).toBe(3);
  expect(tally).toMatchObject({ passed: 1, failed: 0, unstable: ["a.test.ts"], failures: [{ name: "a.test.ts", output: "text" }] });
});

test("a file that fails twice has failed", async () => {
  const { context } = reporting((files) => files.map((file) => testCase(file, file === "b.test.ts")).join(""));
  expect(await bunTestTogether(context, ["a.test.ts", "b.test.ts"], { testLimitMs: 1 })).toMatchObject({
    passed: 1,
    failed: 1,
    files: 2,
    unstable: [],
    failures: [{ name: "b.test.ts", output: "text" }],
  });
});

test("the failure of one file of several is what was printed of that file", async () => {
  const output =
    "bun test v1\n\na.test.ts:\n(pass) works [1.00ms]\n\nb.test.ts:\nerror: broken\n(fail) works\n\nc.test.ts:\n(pass) works\n\n 2 pass\n";
  const command = async (argv: readonly string[]) => {
    const files = argv.filter((word) => word.startsWith("./")).map((word) => word.slice(2));
    writeReport(argv, files.map((file) => testCase(file, file === "b.test.ts")).join(""));
    return { ...ended(1), output };
  };
  const context = { ...around(), command } as unknown as SuiteContext;
  const { failures } = await bunTestTogether(context, ["a.test.ts", "b.test.ts", "c.test.ts"], { testLimitMs: 1 });
  expect(failures).toEqual([{ name: "b.test.ts", output: "b.test.ts:\nerror: broken\n(fail) works\n" }]);
});

test("after a crash before the first test all files run a second time", async () => {
  const { context, runs } = reporting((files, attempt) => (attempt === 1 ? "" : files.map((file) => testCase(file, false)).join("")));
  const tally = await bunTestTogether(context, ["a.test.ts", "b.test.ts"], { testLimitMs: 1 });
  expect(runs[1]).toEqual(["a.test.ts", "b.test.ts"]);
  expect(tally).toMatchObject({ passed: 2, failed: 0, unstable: ["all 2 files"] });
});
