import { expect, test } from "bun:test";
import { medianRatio } from "./pairs.ts";

test("the ratio of pairs is that of most of them, whatever one pair met", () => {
  expect(medianRatio([100, 200, 5000], [200, 400, 1000])).toBe(0.5);
  expect(medianRatio([100], [80])).toBe(1.25);
});
