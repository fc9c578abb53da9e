import { expect, test } from "bun:test";
import { FakeClock } from "@boxyard/core";
import { TestServer } from "../../testing/test-server.ts";

const DAY_MS = 24 * 3600_000;

test.each([
  ["past", Date.UTC(2001)],
  ["future", Date.UTC(2101)],
])("events are forgotten seven days after they were written, by a clock in the %s too", async (_, time) => {
  const clock = new FakeClock(time);
  await using s = await TestServer.start({ clock });
  const { events } = s.server.context.store;
  expect(await events.read(0, 1)).toHaveLength(1);
  await clock.advance(6 * DAY_MS);
  await s.server.sweep.once();
  expect(await events.read(0, 1)).toHaveLength(1);
  await clock.advance(2 * DAY_MS);
  await s.server.sweep.once();
  expect(await events.read(0, 1)).toHaveLength(0);
});
