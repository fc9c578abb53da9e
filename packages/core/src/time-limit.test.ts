import { expect, test } from "bun:test";
import { FakeClock } from "./clock.ts";
import { later, TimeLimit } from "./time-limit.ts";

test("work is called once, after its time by the clock, unless it is cancelled", async () => {
  const clock = new FakeClock();
  const called: string[] = [];
  later(10, () => called.push("one"), clock);
  const cancel = later(10, () => called.push("two"), clock);
  await clock.advance(9);
  expect(called).toEqual([]);
  for (let n = 0; n < 2; n++) cancel();
  await clock.advance(20);
  expect(called).toEqual(["one"]);
});

test("a time limit aborts its signal by the clock, unless it is disposed of or renewed before", async () => {
  const clock = new FakeClock();
  const limit = new TimeLimit(10, clock);
  const renewed = new TimeLimit(10, clock);
  const done = new TimeLimit(10, clock);
  done[Symbol.dispose]();
  await clock.advance(5);
  renewed.renew();
  await clock.advance(5);
  expect([limit.isOver, renewed.isOver, done.isOver]).toEqual([true, false, false]);
  expect(limit.signal.reason).toMatchObject({ name: "TimeoutError" });
  await clock.advance(5);
  expect([renewed.isOver, done.isOver]).toEqual([true, false]);
});

test("without a clock the machine's is asked", async () => {
  using limit = new TimeLimit(1);
  await new Promise<void>((resolve) => limit.signal.addEventListener("abort", () => resolve()));
  expect(limit.isOver).toBe(true);
});
