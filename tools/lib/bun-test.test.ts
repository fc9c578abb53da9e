import { expect, test } from "bun:test";
import { readConfig } from "../config.ts";
import { tallyReport } from "./bun-test.ts";
import type { TestCase } from "./junit.ts";

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
