import { expect, test } from "bun:test";
import { percentile, summarize } from "./stats.ts";

test("percentiles are values that occurred", () => {
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1);
  expect([0.5, 0.9, 0.99, 1].map((share) => percentile(hundred, share))).toEqual([50, 90, 99, 100]);
  expect(percentile([7], 0.5)).toBe(7);
});

test("a summary does not change the samples that it is given", () => {
  const samples = [3, 1, 2];
  expect(summarize(samples)).toEqual({ samples: 3, p50: 2, p90: 3, p95: 3, p99: 3, min: 1, max: 3 });
  expect(samples).toEqual([3, 1, 2]);
});
