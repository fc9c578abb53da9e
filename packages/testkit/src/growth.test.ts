import { expect, test } from "bun:test";
import { isLinear } from "./growth.ts";

const spin = (steps: number) => {
  let sum = 0;
  for (let i = 0; i < steps; i++) sum = (sum * 31 + i) | 0;
  return sum;
};

test("distinguishes linear from quadratic time", async () => {
  expect(await isLinear((size) => spin(1_000 * size), 100)).toBe(true);
  expect(await isLinear(async (size) => spin(size * size), 300)).toBe(false);
});
