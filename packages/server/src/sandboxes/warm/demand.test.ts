import { expect, test } from "bun:test";
import { Demand } from "./demand.ts";

const wantedOf = (demand: Demand, now: number) => Object.fromEntries(demand.wanted(now));

test("nothing is wanted before the first create, then one, then as many as a burst had", () => {
  const demand = new Demand(16);
  expect(wantedOf(demand, 0)).toEqual({});
  demand.note("a", 0);
  expect(wantedOf(demand, 0)).toEqual({ a: 1 });
  for (const at of [100, 200, 300]) demand.note("a", at);
  expect(wantedOf(demand, 300)).toEqual({ a: 4 });
});

test("a burst is forgotten by halves, and the kind ten minutes after its last create", () => {
  const demand = new Demand(16);
  for (let i = 0; i < 8; i++) demand.note("a", i);
  expect(wantedOf(demand, 59_000)).toEqual({ a: 8 });
  expect(wantedOf(demand, 61_000)).toEqual({ a: 4 });
  expect(wantedOf(demand, 121_000)).toEqual({ a: 2 });
  expect(wantedOf(demand, 599_000)).toEqual({ a: 1 });
  expect(wantedOf(demand, 600_100)).toEqual({});
});

test("creates that are more than ten seconds apart are no burst", () => {
  const demand = new Demand(16);
  for (const at of [0, 11_000, 22_000, 33_000]) demand.note("a", at);
  expect(wantedOf(demand, 33_000)).toEqual({ a: 1 });
});

test("what may wait is shared: one of each kind first, those asked for last before the others, the rest in turns", () => {
  const demand = new Demand(5);
  for (let i = 0; i < 9; i++) demand.note("a", i);
  demand.note("b", 10);
  demand.note("b", 11);
  demand.note("c", 12);
  expect(wantedOf(demand, 12)).toEqual({ c: 1, b: 2, a: 2 });
  const one = new Demand(1);
  one.note("a", 0);
  one.note("b", 1);
  expect(wantedOf(one, 1)).toEqual({ b: 1 });
});

test("the number of kinds has a bound: the one that was asked for longest ago goes first", () => {
  const demand = new Demand(1000);
  for (let i = 0; i < 70; i++) demand.note(`k${i}`, i);
  const kinds = [...demand.wanted(70).keys()];
  expect([kinds.length, kinds.includes("k5"), kinds.includes("k6")]).toEqual([64, false, true]);
});

test("a pool that may have nothing wants nothing", () => {
  const demand = new Demand(0);
  demand.note("a", 0);
  expect(wantedOf(demand, 0)).toEqual({});
});

test("as many as the least wait while a kind is remembered, as far as all may", () => {
  const demand = new Demand(10, 6);
  demand.note("a", 0);
  expect(wantedOf(demand, 599_000)).toEqual({ a: 6 });
  demand.note("b", 1);
  expect(wantedOf(demand, 1_000)).toEqual({ b: 5, a: 5 });
  expect(wantedOf(demand, 600_000)).toEqual({ b: 6 });
});

test("creates that take long are a burst if they were asked for at once", () => {
  const demand = new Demand(16);
  for (let n = 1; n <= 5; n++) demand.note("a", n * 9_000, 0);
  expect(wantedOf(demand, 45_000)).toEqual({ a: 5 });
  // Asked for later: the next burst.
  demand.note("a", 50_000, 49_000);
  expect(wantedOf(demand, 50_000)).toEqual({ a: 5 });
  expect(wantedOf(demand, 106_000)).toEqual({ a: 2 });
});
