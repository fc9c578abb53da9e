import { expect, test } from "bun:test";
import { readConfig } from "../config.ts";
import { bunTestEach, tallyReport } from "./bun-test.ts";
import type { TestCase } from "./junit.ts";
import type { SuiteContext } from "./suite.ts";

const ended = (exitCode: number, timedOut = false) => ({ exitCode, timedOut, output: "text", ms: 2_000 });
const passed: TestCase = { file: "a.test.ts", name: "works", outcome: "passed" };
const skipped: TestCase = { file: "a.test.ts", name: "is not listed anywhere", outcome: "skipped" };
const here = { config: readConfig({}) };
const onCi = { config: readConfig({ CI: "true" }) };

test("counts what the report says", () => {
  expect(tallyReport(ended(0), [passed, passed], here)).toEqual({ passed: 2, failed: 0, skipped: [], output: "" });
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
