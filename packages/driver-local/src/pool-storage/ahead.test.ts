import { expect, test } from "bun:test";
import { piecesToAllocate } from "./ahead.ts";

const MIB = 2 ** 20;
const chunk = (start: number, mib: number, isData: boolean) => ({ start: start * MIB, bytes: mib * MIB, isData });
const layout = {
  chunks: [chunk(1, 4, false), chunk(5, 8, false), chunk(13, 8, true), chunk(121, 256, true), chunk(377, 256, false)],
  sizeBytes: 4096 * MIB,
};
const inMib = (...args: Parameters<typeof piecesToAllocate>) =>
  piecesToAllocate(...args).map(({ start, bytes }) => [start / MIB, bytes / MIB]);

test("all chunks are allocated, and the first gaps between and behind them", () => {
  expect(inMib(layout, 256 * MIB, true)).toEqual([[1, 788]]);
  expect(inMib(layout, 50 * MIB, true)).toEqual([
    [1, 70],
    [121, 512],
  ]);
  expect(inMib(layout, 0, true)).toEqual([
    [1, 20],
    [121, 512],
  ]);
});

test("without data: the chunks of the file system's own trees are allocated, and the gaps", () => {
  expect(inMib(layout, 200 * MIB, false)).toEqual([
    [1, 12],
    [21, 100],
    [377, 356],
  ]);
});

test("nothing is allocated beyond the file's end", () => {
  expect(inMib({ ...layout, sizeBytes: 640 * MIB }, 256 * MIB, true)).toEqual([[1, 639]]);
});
