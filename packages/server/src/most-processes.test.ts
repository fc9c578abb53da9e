import { expect, test } from "bun:test";
import { mostProcesses } from "./most-processes.ts";

const MIB = 2 ** 20;

test("threads that all wait for as many files as they can hold no more than an eighth of the sandbox's memory", () => {
  const sizes = [160, 256, 512, 1_024, 4_096].map((mib) => [mib, mostProcesses(mib * MIB, 2_048)] as const);
  expect(sizes).toEqual([
    [160, 136],
    [256, 218],
    [512, 436],
    [1_024, 873],
    [4_096, 2_048],
  ]);
  for (const [mib, processes] of sizes) expect(processes * 150 * 1024).toBeLessThanOrEqual((mib * MIB) / 8);
});

test("even a small sandbox has some", () => {
  expect(mostProcesses(128 * MIB, 2_048)).toBe(128);
});
