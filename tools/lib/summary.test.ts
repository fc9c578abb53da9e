import { expect, test } from "bun:test";
import { passedOne, type Tally } from "./suite.ts";
import { mostUnstable, summaryOf } from "./summary.ts";

const unstable = (count: number, files: number): Tally => ({
  ...passedOne(),
  files,
  unstable: Array.from({ length: count }, (_, i) => `${i}.test.ts`),
});

test("the last line has the counts, and a run without any test has failed", () => {
  expect(summaryOf([passedOne(), passedOne()], true)).toEqual({ lines: ["2 passed, 0 failed, 0 skipped"], failed: false });
  expect(summaryOf([], false)).toEqual({ lines: ["0 passed, 1 failed, 0 skipped"], failed: true });
});

test("the number of second runs that CI allows grows with the number of files", () => {
  expect([0, 1, 299, 300, 560].map(mostUnstable)).toEqual([2, 2, 2, 3, 5]);
});

test("files that passed the second time are named; more than the limit are a failure on a CI machine only", () => {
  const few = summaryOf([unstable(3, 150), unstable(0, 150)], true);
  expect([few.failed, few.lines[0]]).toEqual([false, expect.stringContaining("0.test.ts, 1.test.ts")]);
  const many = [unstable(3, 150), unstable(1, 150)];
  expect(summaryOf(many, false).failed).toBe(false);
  expect(summaryOf(many, true)).toEqual({
    lines: [
      expect.stringContaining("4 test files failed, and passed in a later run, and CI allows 3 of 300"),
      "2 passed, 1 failed, 0 skipped",
    ],
    failed: true,
  });
});

test("first failures come at the end, before the counts, with a bound for their lines, their length and their number", () => {
  const output = Array.from({ length: 100 }, (_, i) => `line ${i}`).join("\n");
  const failures = [
    { name: "a.test.ts", output: `${output}\n${"x".repeat(1_000)}\n\n` },
    ...Array.from({ length: 21 }, (_, i) => ({ name: `${i}.test.ts`, output: "short" })),
  ];
  const { lines } = summaryOf([{ ...passedOne(), unstable: ["a.test.ts"], failures }], false);
  expect(lines[0]).toBe("first failure of a.test.ts:");
  expect(lines.slice(1, 4)).toEqual(["    … 41 lines before", "    line 41", "    line 42"]);
  expect(lines[61]).toBe(`    ${"x".repeat(400)} …`);
  expect(lines.slice(62, 64)).toEqual(["first failure of 0.test.ts:", "    short"]);
  expect(lines.slice(-3)).toEqual([
    "and first failures of 2 more",
    expect.stringContaining("second runs: 1"),
    "1 passed, 0 failed, 0 skipped",
  ]);
});
