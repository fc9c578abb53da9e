import { expect, test } from "bun:test";
import { MAX_SEED, SEED_STEP, seedAbove } from "./inode-seeds.ts";

test("a subvolume begins at the lowest seed above the numbers of its layers", () => {
  const step = BigInt(SEED_STEP);
  expect(seedAbove([])).toBe(0);
  expect(seedAbove([257n])).toBe(1);
  expect(seedAbove([step])).toBe(1);
  expect(seedAbove([step + 1n])).toBe(2);
  expect(seedAbove([3n * step + 5n, 257n])).toBe(4);
});

test("there is a highest seed, whatever number a sandbox has reached", () => {
  const step = BigInt(SEED_STEP);
  expect(seedAbove([BigInt(MAX_SEED) * step])).toBe(MAX_SEED);
  expect(seedAbove([BigInt(MAX_SEED) * step + 1n])).toBe(MAX_SEED);
  expect(seedAbove([2n ** 63n])).toBe(MAX_SEED);
});
