import { expect, test } from "bun:test";
import { roomFor } from "./room.ts";

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const size = { cpuCount: 2, memoryBytes: GIB, diskBytes: 10 * GIB, maxProcesses: 1000 };
const capacity = {
  ...{ memoryLimitBytes: 8 * GIB, memoryFreeBytes: 8 * GIB, diskLimitBytes: 100 * GIB, diskFreeBytes: 100 * GIB },
  ...{ processLimit: 10_000, processesFree: 10_000 },
};
const room = (more: object = {}) =>
  roomFor({
    ...{
      size,
      capacity,
      overcommit: { memory: 64, disk: 256 },
      promised: { memoryBytes: 0, diskBytes: 0 },
      running: 0,
      memoryEach: 0,
      places: 2000,
    },
    ...more,
  });

test("what ends first says how many more fit", () => {
  // Each takes 16 MiB after its start, and the last one must find 256 MiB.
  expect(room()).toEqual({ sandboxes: 497, shortOf: "memory" });
  expect(room({ places: 3 })).toEqual({ sandboxes: 3, shortOf: "places" });
  expect(room({ places: -2 })).toEqual({ sandboxes: 0, shortOf: "places" });
  expect(room({ overcommit: { memory: 1, disk: 256 } })).toEqual({ sandboxes: 8, shortOf: "promisedMemory" });
  expect(room({ overcommit: { memory: 64, disk: 1 } })).toEqual({ sandboxes: 10, shortOf: "promisedDisk" });
  expect(room({ overcommit: { memory: 1, disk: 256 }, promised: { memoryBytes: 7 * GIB, diskBytes: 70 * GIB } })).toEqual({
    sandboxes: 1,
    shortOf: "promisedMemory",
  });
  expect(room({ capacity: { ...capacity, diskFreeBytes: 100 * MIB } })).toEqual({ sandboxes: 0, shortOf: "disk" });
  expect(room({ capacity: { ...capacity, processesFree: 72 } })).toEqual({ sandboxes: 2, shortOf: "processes" });
});

test("those that run say what one takes", () => {
  // Other programs may have taken the rest of the memory.
  const used = { ...capacity, memoryFreeBytes: 4 * GIB };
  expect(room({ capacity: used, running: 1, memoryEach: GIB / 2 })).toEqual({ sandboxes: 8, shortOf: "memory" });
  expect(room({ capacity: { ...capacity, processesFree: 9000 }, running: 10 })).toEqual({ sandboxes: 90, shortOf: "processes" });
});
