import { expect, test } from "bun:test";
import { FakeClock } from "./clock.ts";
import { Rounds } from "./rounds.ts";

/** Lets what is ready to run do so; no time passes. */
const settle = async () => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

test("a round comes after each interval, also after one that failed, until the stop", async () => {
  const clock = new FakeClock();
  const errors: unknown[] = [];
  let rounds = 0;
  const each = new Rounds(
    async () => {
      if (++rounds === 1) throw new Error("the first");
    },
    { clock, everyMs: 10, onError: (error) => errors.push(String(error)) },
  );
  each.start();
  each.start();
  await settle();
  expect(rounds).toBe(0);
  for (const expected of [1, 2, 3]) {
    clock.advance(10);
    await settle();
    expect(rounds).toBe(expected);
  }
  await each.stop();
  await each.stop();
  clock.advance(100);
  await settle();
  expect([rounds, errors]).toEqual([3, ["Error: the first"]]);
});

test("the first may come at once, and a stop waits for the round under way, which sees it", async () => {
  const clock = new FakeClock();
  let seen: AbortSignal | undefined;
  const { promise, resolve } = Promise.withResolvers<void>();
  const each = new Rounds(
    async (signal) => {
      seen = signal;
      await promise;
    },
    { clock, everyMs: 10, isFirstAtOnce: true, onError: () => {} },
  );
  each.start();
  let isStopped = false;
  const stop = each.stop().then(() => {
    isStopped = true;
  });
  await settle();
  expect([isStopped, seen?.aborted]).toEqual([false, true]);
  resolve();
  await stop;
  expect(clock.monotonic()).toBe(0);
});

test("one that was never started is stopped at once", async () => {
  await new Rounds(async () => {}, { clock: new FakeClock(), everyMs: 1, onError: () => {} }).stop();
});

test("a stop does not wait for a round that hangs", async () => {
  const clock = new FakeClock();
  const each = new Rounds(() => new Promise(() => {}), { clock, everyMs: 10, isFirstAtOnce: true, onError: () => {} });
  each.start();
  let isStopped = false;
  const stopped = each.stop().then(() => {
    isStopped = true;
  });
  await settle();
  expect(isStopped).toBe(false);
  await clock.advance(5000);
  await settle();
  expect(isStopped).toBe(true);
  await stopped;
});
