import { expect, test } from "bun:test";
import { checkFileSizes, longFunctions } from "./sizes.ts";

const none = { files: {}, functions: {} };
const file = (path: string, lines: number) => ({ path, text: "x\n".repeat(lines) });

test("up to 300 lines are fine, up to 500 a warning, more a failure", () => {
  const files = [file("a.ts", 300), file("b.ts", 301), file("b.test.ts", 500), file("c.ts", 501), file("c.test.ts", 501)];
  expect(checkFileSizes(files, none)).toEqual({
    warnings: ["b.ts: 301 lines (aim at 300)"],
    failures: ["c.ts: 501 lines (at most 500)", "c.test.ts: 501 lines (at most 500)"],
  });
});

test("an exception is used, and one for a file that is gone fails", () => {
  const exceptions = { files: { "c.ts": "a table", "old.ts": "was long" }, functions: {} };
  expect(checkFileSizes([file("c.ts", 900)], exceptions)).toEqual({
    warnings: [],
    failures: ["old.ts is an exception in size-exceptions.json, but there is no such file"],
  });
});

test("long functions are taken from biome's report, groups of test cases are not", () => {
  const finding = (path: string) => ({
    category: "lint/complexity/noExcessiveLinesPerFunction",
    location: { path, start: { line: 7 } },
  });
  const json = JSON.stringify({ diagnostics: [finding("a.ts"), finding("a.test.ts"), finding("b.ts"), { category: "lint/other" }] });
  expect(longFunctions(json, { files: {}, functions: { "b.ts": "main: one long table" } })).toEqual([
    "a.ts:7: a function of more than 80 lines",
  ]);
});
