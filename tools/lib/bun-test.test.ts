import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { readConfig } from "../config.ts";
import { bunTestEach, bunTestTogether, tallyReport } from "./bun-test.ts";
import type { TestCase } from "./junit.ts";
import { addTallies, type SuiteContext } from "./suite.ts";

const ended = (exitCode: number, timedOut = false) => ({ exitCode, timedOut, output: "text", ms: 2_000, cpuMs: 500 });
const passed: TestCase = { file: "a.test.ts", name: "works", outcome: "passed" };
const skipped: TestCase = { file: "a.test.ts", name: "is not listed anywhere", outcome: "skipped" };
const here = { config: readConfig({}) };
const onCi = { config: readConfig({ CI: "true" }) };

test("counts what the report says", () => {
  expect(tallyReport(ended(0), [passed, passed], here)).toEqual({ passed: 2, failed: 0, skipped: [], output: "", cpuMs: 500 });
});

test("the CPU time of tallies is added, and unknown when none of them has one", () => {
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

test("an unlisted skip fails on a CI machine only", () => {
  expect(tallyReport(ended(0), [passed, skipped], here)).toMatchObject({ failed: 0 });
  expect(tallyReport(ended(0), [passed, skipped], onCi)).toMatchObject({ failed: 1 });
});

test("files run at once, one in each lane with the lane's environment, and every file once", async () => {
  const started: string[] = [];
  const both = Promise.withResolvers<void>();
  const command = async (argv: readonly string[], options?: { env?: Readonly<Record<string, string>> }) => {
    const lane = options?.env?.LANE;
    started.push(`${lane} ${argv.at(-1)}`);
    // The first two are on their way together, or this test does not end.
    if (started.length === 2) both.resolve();
    await both.promise;
    return ended(0);
  };
  const context = { ...here, command, say: () => {} } as unknown as SuiteContext;
  const files = ["a.test.ts", "b.test.ts", "c.test.ts"];
  await bunTestEach(context, files, { testLimitMs: 1, lanes: [{ LANE: "1" }, { LANE: "2" }] });
  expect(started.slice(0, 2)).toEqual(["1 ./a.test.ts", "2 ./b.test.ts"]);
  // The report of none is there, so each was tried twice.
  expect(files.map((file) => started.filter((line) => line.endsWith(file)).length)).toEqual([2, 2, 2]);
});

/** A run of `bun test` that writes the report `xml` makes of the files it is given, and the number of the try. */
function reporting(xml: (files: readonly string[], attempt: number) => string): { context: SuiteContext; runs: string[][] } {
  const runs: string[][] = [];
  const command = async (argv: readonly string[]) => {
    const files = argv.filter((word) => word.startsWith("./")).map((word) => word.slice(2));
    runs.push(files);
    const text = xml(files, runs.length);
    writeFileSync(`${argv.find((word) => word.startsWith("--reporter-outfile="))?.split("=")[1]}`, `<testsuites>${text}</testsuites>`);
    return ended(text === "" ? 133 : text.includes("<failure") ? 1 : 0);
  };
  return { context: { ...here, command, say: () => {} } as unknown as SuiteContext, runs };
}

const testCase = (file: string, failed: boolean): string =>
  `<testcase name="works" file="${file}">${failed ? "<failure/>" : ""}</testcase>`;

test("of files that run together, those that failed have a second try, and the others count once", async () => {
  const { context, runs } = reporting((files, attempt) =>
    files.map((file) => testCase(file, attempt === 1 && file === "b.test.ts")).join(""),
  );
  const tally = await bunTestTogether(context, ["a.test.ts", "b.test.ts"], { testLimitMs: 1 });
  expect(runs).toEqual([["a.test.ts", "b.test.ts"], ["b.test.ts"]]);
  expect(tally).toMatchObject({ passed: 2, failed: 0, unstable: ["b.test.ts"] });
});

test("what fails twice has failed", async () => {
  const { context } = reporting((files) => files.map((file) => testCase(file, file === "b.test.ts")).join(""));
  expect(await bunTestTogether(context, ["a.test.ts", "b.test.ts"], { testLimitMs: 1 })).toMatchObject({
    passed: 1,
    failed: 1,
    unstable: [],
  });
});

test("a process that broke before any test could be named is tried again with all files", async () => {
  const { context, runs } = reporting((files, attempt) => (attempt === 1 ? "" : files.map((file) => testCase(file, false)).join("")));
  const tally = await bunTestTogether(context, ["a.test.ts", "b.test.ts"], { testLimitMs: 1 });
  expect(runs[1]).toEqual(["a.test.ts", "b.test.ts"]);
  expect(tally).toMatchObject({ passed: 2, failed: 0, unstable: ["all 2 files"] });
});

test("files that go together run in the first lane, before the others", async () => {
  const started: string[] = [];
  const command = async (argv: readonly string[], options?: { env?: Readonly<Record<string, string>> }) => {
    started.push(`${options?.env?.LANE} ${argv.at(-1)}`);
    await Bun.sleep(0);
    return ended(0);
  };
  const context = { ...here, command, say: () => {} } as unknown as SuiteContext;
  const files = ["a.test.ts", "b.test.ts", "ours-1.test.ts", "ours-2.test.ts"];
  const together = (file: string) => file.startsWith("ours");
  await bunTestEach(context, files, { testLimitMs: 1, lanes: [{ LANE: "1" }, { LANE: "2" }], together });
  const ours = started.filter((line) => line.includes("ours"));
  expect(new Set(ours)).toEqual(new Set(["1 ./ours-1.test.ts", "1 ./ours-2.test.ts"]));
  expect(started.filter((line) => line.startsWith("1 "))[0]).toBe("1 ./ours-1.test.ts");
  expect(new Set(started.map((line) => line.slice(4))).size).toBe(4);
});
