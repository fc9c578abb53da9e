import { expect, test } from "bun:test";
import type { TeamId } from "@boxyard/core";
import type { StoredMeter, UsageDay } from "./metric-store.ts";
import { FIRST, type Point } from "./points.ts";
import { sampleRecord } from "./sample-record.ts";
import type { Store } from "./store.ts";

const RULES = () => ["sum", "max"] as const;
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
/** A multiple of every step. */
const START = 20_000 * DAY;

const point = (at: number, used: number, held: number, flags = 0): Point => [at, 5000, flags, used, held];

/** The part of `storeContract` about measurements and usage. */
export function metricStoreContract(store: () => Store, reopen: (node: string) => Promise<Store>): void {
  const metrics = () => store().metrics;
  const write = (series: string, points: Point[]) =>
    metrics().writeMeasured({ points: [{ series, points }], meters: [], days: [], roundAt: 1 });

  test("reads the points of a time, of one series", async () => {
    const [a, b] = [point(START, 1, 10, FIRST), point(START + MINUTE, 2, 20)];
    await write("s1", [a]);
    await write("s1", [b]);
    await write("s2", [point(START, 9, 90)]);
    expect(await metrics().read("s1", START, START + HOUR)).toEqual([a, b]);
    expect(await metrics().read("s1", START, START + 1000)).toEqual([a]);
    expect(await metrics().read("s3", 0, START)).toEqual([]);
  });

  test("takes the same points a second time without doubling them", async () => {
    await write("s1", [point(START, 1, 10)]);
    await write("s1", [point(START, 1, 10)]);
    expect(await metrics().read("s1", START, START)).toEqual([point(START, 1, 10)]);
  });

  test("thins points with their age, keeps what was used, and is bounded", async () => {
    // Two hours of points in two places, written every minute as the server does.
    for (let minute = 0; minute < 120; minute++) {
      const points = Array.from({ length: 12 }, (_, i) => point(START + minute * MINUTE + (i + 1) * 5000 - 1, 1, minute));
      await write("s1", points);
    }
    const all = () => metrics().read("s1", START, START + 100 * DAY);
    const used = async () => (await all()).reduce((sum, [, , , cpu]) => sum + (cpu ?? 0), 0);
    expect([(await all()).length, await used()]).toEqual([1440, 1440]);
    while (await metrics().thin(START + 2 * HOUR, RULES));
    // The newest hour and ten minutes are as they were, the rest has a point per minute.
    expect([(await all()).length, await used()]).toEqual([840 + 50, 1440]);
    while (await metrics().thin(START + 2 * HOUR, RULES));
    expect((await all()).length).toBe(890);
    while (await metrics().thin(START + 2 * DAY, RULES));
    while (await metrics().thin(START + 2 * DAY, RULES));
    expect([(await all()).length, await used()]).toEqual([12, 1440]);
    expect((await all()).map(([, , , , held]) => held)).toEqual([9, 19, 29, 39, 49, 59, 69, 79, 89, 99, 109, 119]);
    await metrics().thin(START + 32 * DAY, RULES);
    expect(await all()).toEqual([]);
  });

  test("keeps the meters of sandboxes, sums of days and the time of the last round, of its node", async () => {
    const record = sampleRecord();
    await store().insertSandbox(record);
    const usage = { cpuUsec: 5, memoryMibMs: 7, runningMs: 9, receivedBytes: 11, sentBytes: 13 };
    const meter: StoredMeter = { ...usage, at: START, isStopped: false, counters: [1, 2, 3], point: point(START, 1, 10) };
    const day: UsageDay = { ...usage, teamId: record.teamId, day: START, sandboxes: 2 };
    expect([await metrics().meterOf(record.id), await metrics().lastRound()]).toEqual([undefined, undefined]);
    await metrics().writeMeasured({ points: [], meters: [{ id: record.id, meter }], days: [day], roundAt: START });
    await metrics().writeMeasured({ points: [], meters: [], days: [day, { ...day, day: START + DAY }], roundAt: START + 1 });
    expect(await metrics().meterOf(record.id)).toEqual(meter);
    const twice = { cpuUsec: 10, memoryMibMs: 14, runningMs: 18, receivedBytes: 22, sentBytes: 26 };
    expect(await metrics().usageDays(record.teamId, START, START)).toEqual([{ ...day, ...twice, sandboxes: 4 }]);
    expect(await metrics().usageDays("other" as TeamId, 0, START + DAY)).toEqual([]);
    await metrics().pruneDays(START + 1);
    expect((await metrics().usageDays(record.teamId, 0, START + DAY)).map((one) => one.day)).toEqual([START + DAY]);
    expect(await metrics().lastRound()).toBe(START + 1);
    expect(await (await reopen("elsewhere")).metrics.lastRound()).toBeUndefined();
  });

  test("keeps what a sandbox has used with its record, and in the event of its end", async () => {
    const record = sampleRecord({ state: "killing", reason: "requested", endedAt: 5 });
    await store().insertSandbox(record);
    const usage = { cpuUsec: 5, memoryMibMs: 7, runningMs: 9, receivedBytes: 11, sentBytes: 13 };
    const from = await store().events.newest();
    await store().updateSandbox(record.id, ["killing"], { state: "dead", usage });
    expect((await store().getSandbox(record.id))?.usage).toEqual(usage);
    expect(await store().events.read(from, 10)).toMatchObject([{ action: "sandbox.dead", after: { state: "dead", usage } }]);
    await write(record.id, [point(START, 1, 10)]);
    await store().pruneSandboxes(10);
    expect(await metrics().read(record.id, 0, START)).toEqual([]);
  });
}
