import { expect, test } from "bun:test";
import { FakeClock, systemClock } from "./clock.ts";

test("advancing a fake clock wakes sleepers in the order of their times", async () => {
  const clock = new FakeClock(1000);
  const woken: string[] = [];
  const wake = (name: string, ms: number) => clock.sleep(ms).then(() => woken.push(`${name} at ${clock.now()}`));
  const sleeping = [wake("late", 30), wake("early", 10), wake("last", 100)];
  await clock.advance(30);
  expect([clock.now(), clock.monotonic(), woken]).toEqual([1030, 1030, ["early at 1010", "late at 1030"]]);
  await clock.advance(100);
  await Promise.all(sleeping);
  expect(woken.at(-1)).toBe("last at 1100");
});

test.each([
  ["the system's", systemClock],
  ["a fake", new FakeClock()],
])("%s clock's sleep ends with the reason of its signal", async (_name, clock) => {
  const stop = new AbortController();
  const sleeping = clock.sleep(3_600_000, stop.signal);
  stop.abort(new Error("stopped"));
  await expect(sleeping).rejects.toThrow("stopped");
  await expect(clock.sleep(1, stop.signal)).rejects.toThrow("stopped");
});
