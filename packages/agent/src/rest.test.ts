import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { Rest } from "./rest.ts";
import { after } from "./timers.ts";

/** Stands still for that time, as a rest that nothing ends. */
function standStill(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

test("rests after a time without requests, ever longer, up to shortly before the next timer, and not while a request is under way", async () => {
  const rests: number[] = [];
  let isBusy = true;
  const rest = new Rest({
    isBusy: () => isBusy,
    wait: (ms) => {
      rests.push(ms);
      standStill(2 * ms);
    },
    idleMs: 1,
    leastMs: 1,
    firstMs: 0.001,
    longestMs: 0.004,
  });
  rest.touched();
  const order: string[] = [];
  await eventually(
    "a timer of the time in which it could have rested fires",
    () => new Promise<boolean>((resolve) => after(20, () => resolve(true))),
  );
  order.push(rests.length === 0 ? "awake" : "rested");
  isBusy = false;
  await eventually("it rests, ever longer", () => rests.length > 4);
  isBusy = true;
  expect([order, rests.slice(0, 4)]).toEqual([["awake"], [0.001, 0.002, 0.004, 0.004]]);
});

test("rests no longer than until shortly before the next timer", async () => {
  const rests: number[] = [];
  let isBusy = false;
  const rest = new Rest({
    isBusy: () => isBusy,
    wait: (ms) => void rests.push(ms),
    idleMs: 1,
    leastMs: 1000,
    firstMs: 60_000,
    longestMs: 60_000,
  });
  const cancel = after(31_000, () => {});
  rest.touched();
  await eventually("it rests", () => rests.length > 0);
  isBusy = true;
  cancel();
  expect(rests[0]).toBeGreaterThan(1000);
  expect(rests[0]).toBeLessThanOrEqual(30_000);
});
