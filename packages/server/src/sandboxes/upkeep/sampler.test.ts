import { expect, test } from "bun:test";
import { FakeClock, type SandboxId } from "@boxyard/core";
import { eventually } from "@boxyard/testkit";
import { TestServer } from "../../testing/test-server.ts";

const calls = ({ world }: TestServer) => world.faults.calls.filter((verb) => verb === "stats").length;

test("measurements that hang keep neither the other sandboxes from being measured nor the server from ending, and do not add up", async () => {
  const clock = new FakeClock(Date.UTC(2030));
  await using s = await TestServer.start({ clock });
  const hanging = await Promise.all(Array.from({ length: 4 }, () => s.create()));
  const other = await s.create();
  const { sampler, meters } = s.server;
  const isMeasured = (id: string) => meters.find(id as SandboxId)?.tail.last !== undefined;
  const before = calls(s);
  s.world.faults.add("stats", { kind: "hang", times: 4 });
  const round = sampler.once();
  await eventually("four measurements hang", () => calls(s) === before + 4);
  await clock.advance(4000);
  await round;
  expect(isMeasured(other.sandboxID)).toBe(true);
  const later = calls(s);
  await sampler.once();
  // The other one has done nothing since then.
  expect(calls(s)).toBe(later);
  s.world.faults.clear();
  const measured = () => sampler.once().then(() => hanging.every(({ sandboxID }) => isMeasured(sandboxID)));
  await eventually("all are measured", measured);
});
