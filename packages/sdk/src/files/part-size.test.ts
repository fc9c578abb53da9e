import { expect, test } from "bun:test";
import { PartSize } from "./part-size.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

test("begins small and comes to parts of about a second", () => {
  const size = new PartSize(undefined);
  expect([size.next(), size.next()]).toEqual([128 * KIB, 128 * KIB]);
  size.took(128 * KIB, 250);
  expect(size.next()).toBe(512 * KIB);
  size.took(512 * KIB, 8000);
  expect(size.next()).toBe(64 * KIB);
  size.took(64 * KIB, 0);
  expect(size.next()).toBe(8 * MIB);
});

test("sizes are whole blocks, and never so small that there would be more than 10,000 parts", () => {
  for (const total of [undefined, 1, 10 * MIB, 3_000_000_001, 60_000 * MIB]) {
    const size = new PartSize(total);
    let sum = 0;
    let count = 0;
    for (; count < 10_000 && sum < (total ?? Number.POSITIVE_INFINITY); count++) {
      const next = size.next();
      expect(next % (64 * KIB)).toBe(0);
      sum += next;
      size.took(next, 1e9);
    }
    expect(sum).toBeGreaterThanOrEqual(total ?? 9000 * MIB);
  }
});
