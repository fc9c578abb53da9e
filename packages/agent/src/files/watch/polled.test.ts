import { expect, test } from "bun:test";
import { FakeClock, isAppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { PolledWatchers } from "./polled.ts";
import type { Watch } from "./watch.ts";

function setUp() {
  const clock = new FakeClock();
  const watchers = new PolledWatchers(clock);
  const disposed: string[] = [];
  const add = (name: string) => watchers.add({ dispose: () => disposed.push(name) } as unknown as Watch);
  const isThere = (id: string) => {
    try {
      return watchers.get(id) !== undefined;
    } catch (error) {
      if (isAppError(error, "watcher_not_found")) return false;
      throw error;
    }
  };
  return { clock, watchers, disposed, add, isThere };
}

test("a watcher is removed after half an hour without a poll", async () => {
  const { clock, disposed, add, isThere } = setUp();
  const [polled] = [add("polled"), add("forgotten")];
  for (let i = 0; i < 4; i++) {
    await clock.advance(LIMITS.unpolledWatcherMs - 1);
    expect(isThere(polled)).toBe(true);
    await clock.advance(0);
  }
  expect(disposed).toEqual(["forgotten"]);
  await clock.advance(LIMITS.unpolledWatcherMs);
  expect([disposed, isThere(polled)]).toEqual([["forgotten", "polled"], false]);
});

test("a watcher that its client removed is not removed again when its time is over", async () => {
  const { clock, watchers, disposed, add, isThere } = setUp();
  const id = add("removed");
  watchers.remove(id);
  await clock.advance(2 * LIMITS.unpolledWatcherMs);
  expect([disposed, isThere(id)]).toEqual([["removed"], false]);
  expect(() => watchers.remove(id)).toThrow(`watcher with id ${id} not found`);
});
