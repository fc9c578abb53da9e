import { expect, test } from "bun:test";
import { FakeClock } from "@boxyard/core";
import { type Logger, silentLogger } from "@boxyard/core/node";
import type { FaultVerb } from "@boxyard/driver/fake";
import { eventually } from "@boxyard/testkit";
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

const calls = ({ world }: TestServer, wanted: FaultVerb) => world.faults.calls.filter((verb) => verb === wanted).length;

test("removals that hang do not wait for each other", async () => {
  const clock = new FakeClock(Date.UTC(2030));
  await using s = await TestServer.start({ clock });
  const made = await Promise.all([s.create(), s.create(), s.create()]);
  s.world.faults.add("destroy", { kind: "fail", times: 3 });
  for (const { sandboxID } of made) await s.call("DELETE", `/sandboxes/${sandboxID}`);
  await clock.advance(6000);
  const before = calls(s, "destroy");
  s.world.faults.add("destroy", { kind: "hang", times: 3 });
  const round = s.server.sweep.once();
  await eventually("three removals are under way", () => calls(s, "destroy") === before + 3).finally(() => s.world.faults.clear());
  await round;
});

test.each(["fail", "hang"] as const)(
  "a list of the driver's sandboxes that has the fault '%s' keeps nothing else from being repaired",
  async (kind) => {
    const clock = new FakeClock(Date.UTC(2030));
    const logged: unknown[] = [];
    const error = ({ part }: { part?: string }) => void logged.push(part);
    const logger: Logger = Object.create(silentLogger, { error: { value: error } });
    await using s = await TestServer.start({ clock, logger });
    const { sandboxID } = await s.create();
    s.world.faults.add("destroy", { kind: "fail" });
    await s.call("DELETE", `/sandboxes/${sandboxID}`);
    await clock.advance(6000);
    s.world.faults.add("list", { kind });
    const before = calls(s, "list");
    const round = s.server.sweep.once();
    await eventually("the list is under way", () => calls(s, "list") > before);
    await clock.advance(60_000);
    await round;
    expect(logged).toContain("comparison");
    expect(s.world.sandboxes.size).toBe(0);
  },
);
