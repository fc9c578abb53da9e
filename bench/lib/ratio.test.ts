import { expect, test } from "bun:test";
import { ratioOf } from "./ratio.ts";

test.each([
  ["create ≤ 12 ms", "18 ms", 1.5],
  ["faster than podman run ≥ 15 ×", "30.0 ×", 0.5],
  ["of bwrap's time ≤ 3 ×", "1.5 ×", 0.5],
  ["files ≤ 10,000", "1,000", 0.1],
] as const)("%s, measured %s, is %p of what is promised", (promise, measured, ratio) => {
  expect(ratioOf({ promise, measured })).toBe(ratio);
});

test("there is no ratio where nothing is measured against a number", () => {
  expect(ratioOf({ promise: "nothing leaks", measured: "nothing" })).toBeUndefined();
  expect(ratioOf({ promise: "100 of 100", measured: "100 of 100" })).toBeUndefined();
  expect(ratioOf({ promise: "faster ≥ 2 ×", measured: "0 ×" })).toBeUndefined();
});
