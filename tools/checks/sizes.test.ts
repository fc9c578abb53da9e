import { expect, test } from "bun:test";
import { longFiles, longFunctions } from "./sizes.ts";

const file = (path: string, lines: number) => ({ path, text: "x\n".repeat(lines) });

test("a file of code may have 300 lines, a list of test cases 500", () => {
  const files = [file("a.ts", 300), file("b.ts", 301), file("b.test.ts", 500), file("c.c", 501), file("c.test.ts", 501)];
  expect(longFiles(files)).toEqual([
    "b.ts: 301 lines (at most 300); split it by job",
    "c.c: 501 lines (at most 300); split it by job",
    "c.test.ts: 501 lines (at most 500); split it by job",
  ]);
});

test("a last line without an end counts", () => {
  expect(longFiles([{ path: "a.ts", text: `${"x\n".repeat(300)}x` }])).toEqual(["a.ts: 301 lines (at most 300); split it by job"]);
});

test("long functions come from biome's report; groups of test cases do not count", () => {
  const finding = (path: string) => ({
    category: "lint/complexity/noExcessiveLinesPerFunction",
    location: { path, start: { line: 7 } },
  });
  const json = JSON.stringify({ diagnostics: [finding("a.ts"), finding("a.test.ts"), { category: "lint/other" }] });
  expect(longFunctions(json)).toEqual(["a.ts:7: a function of more than 80 lines"]);
});
