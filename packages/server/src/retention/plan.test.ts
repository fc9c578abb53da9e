import { expect, test } from "bun:test";
import type { RetentionRule } from "@boxyard/spec/platform";
import { type Kept, planOf } from "./plan.ts";

const HOUR = 3600_000;
const MIB = 2 ** 20;
const NOW = 1000 * HOUR;
/** Kept since so many hours, and so large in MiB. */
const item = (id: string, hours: number, mib = 0, isInUse = false): Kept => ({ id, at: NOW - hours * HOUR, bytes: mib * MIB, isInUse });
/** The ids that are deleted, with the hours until then. */
const plan = (items: Kept[], rule: RetentionRule, { warn = 0, announced = {} as Record<string, number> } = {}) =>
  planOf(items, rule, {
    now: NOW,
    warnMs: warn * HOUR,
    announcedAt: (id) => (announced[id] === undefined ? undefined : NOW - announced[id] * HOUR),
  }).map(({ id, announceAt, deleteAt }) => [id, (announceAt - NOW) / HOUR, (deleteAt - NOW) / HOUR]);

test("nothing is deleted without a rule", () => {
  expect(plan([item("a", 900)], {})).toEqual([]);
});

test("by age: at its date, the oldest first", () => {
  expect(plan([item("new", 1), item("old", 30)], { maxAgeHours: 24 })).toEqual([
    ["old", 0, 0],
    ["new", 23, 23],
  ]);
});

test("by count: the newest are kept, those in use too, which count", () => {
  const items = [item("a", 4), item("b", 3), item("used", 5, 0, true), item("c", 1), item("d", 2)];
  expect(plan(items, { maxCount: 2 }).map(([id]) => id)).toEqual(["a", "b"]);
  expect(plan(items, { maxCount: 0 }).map(([id]) => id)).toEqual(["a", "b", "c", "d"]);
});

test("by size: the newest that fit together are kept", () => {
  expect(plan([item("a", 3, 10), item("b", 2, 10), item("c", 1, 10)], { maxMB: 20 }).map(([id]) => id)).toEqual(["a"]);
});

test("a warning comes before: a date of age is kept if it can be, and nothing is deleted before it was announced for so long", () => {
  expect(plan([item("a", 10)], { maxAgeHours: 24 }, { warn: 6 })).toEqual([["a", 8, 14]]);
  expect(plan([item("a", 100)], { maxAgeHours: 24 }, { warn: 6 })).toEqual([["a", 0, 6]]);
  expect(plan([item("a", 100)], { maxAgeHours: 24 }, { warn: 6, announced: { a: 2 } })).toEqual([["a", -2, 4]]);
  expect(plan([item("a", 1), item("b", 2)], { maxCount: 1 }, { warn: 6 })).toEqual([["b", 0, 6]]);
  expect(plan([item("a", 1), item("b", 2)], { maxCount: 1 }, { warn: 6, announced: { b: 7 } })).toEqual([["b", -7, -1]]);
});
