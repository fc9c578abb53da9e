import { expect, test } from "bun:test";
import { FairShare } from "./fair-share.ts";

const nothing = () => {};

test("a holder gets no place beyond its own bound, nor when all places are taken", () => {
  const share = new FairShare<string>(3, 2);
  expect(share.enter("a", nothing)).toBeFunction();
  const leave = share.enter("a", nothing);
  expect(share.enter("a", nothing)).toBeUndefined();
  expect(share.enter("b", nothing)).toBeFunction();
  expect(share.enter("b", nothing)).toBeUndefined();
  leave?.();
  leave?.();
  expect(share.taken).toBe(2);
  expect(share.enter("b", nothing)).toBeFunction();
});

test("a holder with few places gets the oldest place of the holder with the most", () => {
  const share = new FairShare<string>(6, 4);
  const given: string[] = [];
  const leaves = [1, 2, 3, 4].map((n) => share.enter("greedy", () => given.push(`greedy ${n}`)));
  for (const n of [1, 2]) share.enter("other", () => given.push(`other ${n}`));
  expect(share.enter("modest", nothing)).toBeFunction();
  expect([given, share.taken]).toEqual([["greedy 1"], 6]);
  // Leaving a place that another holder has got changes nothing.
  leaves[0]?.();
  expect(share.taken).toBe(6);
  expect(share.enter("modest", nothing)).toBeFunction();
  expect(given).toEqual(["greedy 1", "greedy 2"]);
  // They have two each: taking a place from the other would help neither.
  expect(share.enter("modest", nothing)).toBeUndefined();
});

test("however many are greedy, a newcomer gets a place", () => {
  const share = new FairShare<number>(1024, 64);
  for (let holder = 0; holder < 40; holder++) for (let i = 0; i < 64; i++) share.enter(holder, nothing);
  expect(share.taken).toBe(1024);
  for (let newcomer = 100; newcomer < 300; newcomer++) expect(share.enter(newcomer, nothing)).toBeFunction();
  expect(share.taken).toBe(1024);
});
