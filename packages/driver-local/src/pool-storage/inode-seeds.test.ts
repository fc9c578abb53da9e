import { expect, test } from "bun:test";
import { MAX_SEED, SEED_STEP, seedAbove, seedAboveLayers } from "./inode-seeds.ts";

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

test("a layer leaves 65,536 numbers for each layer below it while one of them is not there yet", () => {
  const step = BigInt(SEED_STEP);
  const free = 65_536 / SEED_STEP;
  expect(seedAboveLayers([])).toBe(0);
  expect(seedAboveLayers([3n * step, 257n])).toBe(3);
  expect(seedAboveLayers([undefined])).toBe(free);
  expect(seedAboveLayers([257n, undefined])).toBe(2 * free);
  // The second layer may have begun above the first one's end.
  expect(seedAboveLayers([20n * step, undefined])).toBe(20 + free);
  expect(seedAboveLayers([undefined, 20n * step])).toBe(20);
  expect(seedAboveLayers(Array.from({ length: 100 }, () => undefined))).toBe(MAX_SEED);
});
