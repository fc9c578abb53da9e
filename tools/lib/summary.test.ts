import { expect, test } from "bun:test";
import { passedOne, type Tally } from "./suite.ts";
import { MAX_UNSTABLE, summaryOf } from "./summary.ts";

const unstable = (count: number): Tally => ({ ...passedOne(), unstable: Array.from({ length: count }, (_, i) => `${i}.test.ts`) });

test("the last line has the counts, and a run without any test has failed", () => {
  expect(summaryOf([passedOne(), passedOne()], true)).toEqual({ lines: ["2 passed, 0 failed, 0 skipped"], failed: false });
  expect(summaryOf([], false)).toEqual({ lines: ["0 passed, 1 failed, 0 skipped"], failed: true });
});

test("files that passed the second time are named; more than the limit are a failure on a CI machine only", () => {
  const few = summaryOf([unstable(MAX_UNSTABLE)], true);
  expect([few.failed, few.lines[0]]).toEqual([false, expect.stringContaining("0.test.ts, 1.test.ts")]);
  const many = [unstable(MAX_UNSTABLE), unstable(1)];
  expect(summaryOf(many, false).failed).toBe(false);
  expect(summaryOf(many, true)).toEqual({
    lines: [expect.stringContaining("3 test files"), "2 passed, 1 failed, 0 skipped"],
    failed: true,
  });
});
