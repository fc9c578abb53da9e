import { expect, test } from "bun:test";
import { RANGE_SIZE, UidRanges } from "./uid-ranges.ts";

const FIRST = 0x1000_0000;
const SLOTS = (0x7000_0000 - FIRST) / RANGE_SIZE;

test("gives ranges that never overlap, and an old one back as late as possible", () => {
  const ranges = new UidRanges("0000002a");
  const first = ranges.take();
  expect(first).toBe(FIRST + 42 * RANGE_SIZE);
  ranges.giveBack(first);
  expect(ranges.take()).toBe(first + RANGE_SIZE);
  const seen = new Set<number>([first + RANGE_SIZE]);
  for (let i = 1; i < SLOTS; i++) seen.add(ranges.take());
  expect(seen.size).toBe(SLOTS);
  expect(Math.min(...seen)).toBe(FIRST);
  expect(Math.max(...seen)).toBe(0x7000_0000 - RANGE_SIZE);
  expect(() => ranges.take()).toThrow("Every range");
  ranges.giveBack(FIRST);
  expect(ranges.take()).toBe(FIRST);
});

test("does not give what an earlier process gave", () => {
  const ranges = new UidRanges("00000000");
  ranges.adopt(FIRST);
  expect(ranges.take()).toBe(FIRST + RANGE_SIZE);
});

test("two servers begin at different places", () => {
  expect(new UidRanges("12345678").take()).not.toBe(new UidRanges("87654321").take());
});
