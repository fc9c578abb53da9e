import { expect, test } from "bun:test";
import { diskReserve, poolAhead, poolReserve, shareOfSandboxes } from "./reserve-for-machine.ts";

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const machine = (memoryGib: number, processes = 32_768) => ({ memoryBytes: memoryGib * GIB, processes });

test("what is left for the machine grows with it, and can be set", () => {
  expect(shareOfSandboxes(machine(24))).toEqual({ memoryBytes: 22 * GIB, processes: 28_672 });
  expect(shareOfSandboxes(machine(2))).toEqual({ memoryBytes: 1408 * MIB, processes: 28_672 });
  expect(shareOfSandboxes(machine(24, 4096)).processes).toBe(3072);
  expect(shareOfSandboxes(machine(24), { memoryBytes: 4 * GIB, processes: 768 })).toEqual({ memoryBytes: 20 * GIB, processes: 32_000 });
});

test("a reserve that leaves nothing is refused by the setting's name", () => {
  expect(() => shareOfSandboxes(machine(24), { memoryBytes: 24 * GIB })).toThrow("BOXYARD_RESERVE_MEMORY leaves nothing");
  expect(() => shareOfSandboxes(machine(24), { processes: 40_000 })).toThrow("BOXYARD_RESERVE_PROCESSES leaves nothing");
});

test("the reserves of pool and disk are bounded on both sides, and never more than half", () => {
  expect([4, 40, 1000].map((gib) => poolReserve(gib * GIB) / MIB)).toEqual([512, 2048, 8192]);
  expect(poolReserve(4 * GIB, { poolBytes: 100 * GIB })).toBe(2 * GIB);
  expect([0.5, 100, 1000].map((gib) => diskReserve(gib * GIB) / MIB)).toEqual([256, 2048, 8192]);
});

test("the pool has half of the disk's reserve ahead, from 768 MiB to 1 GiB, or what is set", () => {
  expect([2, 40, 1000].map((gib) => poolAhead(gib * GIB) / MIB)).toEqual([768, 768, 1024]);
  expect([0, 5 * MIB].map((aheadBytes) => poolAhead(GIB, { aheadBytes }))).toEqual([0, 5 * MIB]);
});

test("reserves are whole bytes for every size: programs such as fallocate refuse fractions", () => {
  for (const bytes of [42 * GIB + 1, 77 * GIB + 7, 252 * GIB + 13]) {
    for (const reserve of [poolReserve, diskReserve, poolAhead]) expect(Number.isInteger(reserve(bytes))).toBe(true);
  }
});
