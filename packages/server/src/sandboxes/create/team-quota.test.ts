import { expect, test } from "bun:test";
import { AppError, FakeClock, type TeamId } from "@boxyard/core";
import { sampleRecord } from "../../store/sample-record.ts";
import { TeamQuota } from "./team-quota.ts";

const TEAM = "team" as TeamId;
const NO_LIMITS = { sandboxes: 1e6, cpus: 1e6, memoryMB: 1e9, diskMB: 1e9, createsPerMinute: 1e6 };

function setUp(limits: Partial<typeof NO_LIMITS>) {
  const clock = new FakeClock(0);
  const of = (_team: TeamId, name: keyof typeof NO_LIMITS) => ({ ...NO_LIMITS, ...limits })[name];
  const check = (team: TeamId, name: keyof typeof NO_LIMITS, amount: number, retryAfter = 5) => {
    if (amount > of(team, name)) throw new AppError("resource_exhausted", name, { details: { retryAfter } });
  };
  return { clock, quota: new TeamQuota({ limits: { of, check }, clock }) };
}

/** As `sampleRecord` has them: 2 processors, 1 GiB of memory, 10 GiB of disk. */
const { resources } = sampleRecord().facts;
/** A team's sandboxes of that size. */
const others = (running: number, paused = 0) => ({
  ...{ sandboxes: running, cpus: running * resources.cpuCount, memoryBytes: running * resources.memoryBytes },
  diskBytes: (running + paused) * resources.diskBytes,
});

test("creates come back evenly over a minute, and no more than a minute's worth at once", async () => {
  const { clock, quota } = setUp({ createsPerMinute: 6 });
  const begun = () => {
    let n = 0;
    try {
      for (; n < 100; n++) quota.begin(TEAM);
    } catch (error) {
      return [n, (error as AppError).message, (error as AppError).details.retryAfter];
    }
    return [n];
  };
  expect(begun()).toEqual([6, "createsPerMinute", 10]);
  quota.begin("another" as TeamId);
  await clock.advance(19_999);
  expect(begun()).toEqual([1, "createsPerMinute", 1]);
  await clock.advance(3_600_000);
  expect(begun()[0]).toBe(6);
});

test.each([
  ["sandboxes", { sandboxes: 2 }, others(1, 2), others(2)],
  ["cpus", { cpus: 4 }, others(1, 1), others(2)],
  ["memoryMB", { memoryMB: 2048 }, others(1, 1), others(2)],
  ["diskMB", { diskMB: 30_720 }, others(1, 1), others(0, 3)],
])("%s: what is within the limit passes, one more is refused", (name, limits, fits, tooMany) => {
  const { quota } = setUp(limits);
  quota.check(sampleRecord(), fits);
  expect(() => quota.check(sampleRecord(), tooMany)).toThrow(name);
});

test("says how many creates a team has begun within a minute", async () => {
  const { clock, quota } = setUp({});
  expect(quota.createsOf(TEAM)).toBe(0);
  for (let i = 0; i < 10; i++) quota.begin(TEAM);
  expect([quota.createsOf(TEAM), quota.createsOf("another" as TeamId)]).toEqual([10, 0]);
  await clock.advance(90_000);
  expect(quota.createsOf(TEAM)).toBe(5);
  quota.begin(TEAM);
  expect(quota.createsOf(TEAM)).toBe(6);
  await clock.advance(120_000);
  expect(quota.createsOf(TEAM)).toBe(0);
});
