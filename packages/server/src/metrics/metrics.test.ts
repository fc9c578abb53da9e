import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { FakeClock, type SandboxId } from "@boxyard/core";
import type { FakeUse } from "@boxyard/driver/fake";
import { TestServer } from "../testing/test-server.ts";

const START = Date.UTC(2030, 0, 1, 12);

describe("measurements", () => {
  let clock: FakeClock;
  let s: TestServer;
  beforeEach(async () => {
    clock = new FakeClock(START);
    s = await TestServer.start({ clock });
  });
  afterEach(() => s[Symbol.asyncDispose]());

  /** A round of the sampler, five seconds after the last: what the sandbox uses has changed meanwhile. */
  async function round(use: Partial<FakeUse> = {}, id?: string): Promise<void> {
    const sandbox = s.world.sandboxes.get(id ?? [...s.world.sandboxes.keys()][0] ?? "");
    if (sandbox) Object.assign(sandbox.use, use);
    await clock.advance(5000);
    await s.server.sampler.once();
  }
  const metricsOf = async (id: string, range = "") => (await s.call("GET", `/sandboxes/${id}/metrics${range}`)).body;
  const usageOf = async (id: string) => (await s.call("GET", `/sandboxes/${id}/usage`)).body;
  const flush = () => s.server.metricWriter.flush();
  async function restart(): Promise<void> {
    const { world, config } = s;
    await s.stop();
    s = await TestServer.start({ clock, world, dataDir: config.dataDir });
  }

  test("tell the share of the processors, the bytes held and those of the network, since the creation", async () => {
    const { sandboxID } = await s.create();
    await s.server.sampler.once();
    // Two processors for five seconds: 10 s at most.
    await round({ cpuUsageUsec: 1000 + 5_000_000, memoryUsedBytes: 2 << 20, networkReceivedBytes: 10, networkSentBytes: 20 });
    expect((await metricsOf(sandboxID)).at(-1)).toMatchObject({
      timestampUnix: START / 1000 + 5,
      cpuUsedPct: 50,
      memUsed: 2 << 20,
      networkReceivedBytes: 10,
      networkSentBytes: 20,
    });
  });

  test("of an idle sandbox ask the driver once, write nothing, and are answered for the whole time", async () => {
    const { sandboxID } = await s.create();
    await s.server.sampler.once();
    await flush();
    const calls = () => s.world.faults.calls.filter((verb) => verb === "stats").length;
    const before = calls();
    for (let i = 0; i < 10; i++) await round();
    expect(calls()).toBe(before);
    expect(s.server.meters.find(sandboxID as SandboxId)?.tail.pending).toEqual([]);
    const samples = await metricsOf(sandboxID);
    expect(samples.map((sample: { timestampUnix: number }) => sample.timestampUnix - START / 1000)).toEqual([
      0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50,
    ]);
    expect(
      samples.slice(1).every((sample: { cpuUsedPct: number; memUsed: number }) => sample.cpuUsedPct === 0 && sample.memUsed === 1 << 20),
    ).toBe(true);
    const { sandboxes } = (await s.call("GET", `/sandboxes/metrics?sandbox_ids=${sandboxID}`)).body;
    expect(sandboxes[sandboxID]).toEqual(samples.at(-1));
  });

  test("are there after a restart, also after a crash in which an idle sandbox had nothing to write", async () => {
    const { sandboxID } = await s.create();
    await s.server.sampler.once();
    await round({ cpuUsageUsec: 9000 });
    const before = await metricsOf(sandboxID);
    await restart();
    expect((await metricsOf(sandboxID)).slice(0, before.length)).toEqual(before);
    for (let i = 0; i < 4; i++) await round();
    await flush();
    await restart();
    await round({ cpuUsageUsec: 19_000 });
    const times = (await metricsOf(sandboxID)).map((sample: { timestampUnix: number }) => sample.timestampUnix);
    expect(times.at(-1)).toBe(clock.now() / 1000);
    expect(new Set(times).size).toBe(times.length);
    expect((await usageOf(sandboxID)).cpuSeconds).toBe(0.019);
  });

  test("of a month are answered at a longer step, with the newest as it was measured; those of a day at their own", async () => {
    const { sandboxID } = await s.create();
    const [step, ofDay] = [600_000, 144];
    const count = 30 * ofDay;
    const before = Array.from({ length: count }, (_, i) => [START - (count - i) * step, step, 0, 1000, i, 0, 0, 0, 0]);
    const points = Array.from({ length: 30 }, (_, day) => ({ series: sandboxID, points: before.slice(day * ofDay, (day + 1) * ofDay) }));
    await s.server.context.store.metrics.writeMeasured({ points, meters: [], days: [], roundAt: START });
    await s.server.sampler.once();
    await round({ cpuUsageUsec: 9000, memoryUsedBytes: 5 << 20 });
    const month = await metricsOf(sandboxID);
    expect(month.length).toBeGreaterThan(1400);
    expect(month.length).toBeLessThanOrEqual(1500);
    expect(month[101].timestampUnix - month[100].timestampUnix).toBe(1800);
    expect(month[101].memUsed - month[100].memUsed).toBe(3);
    const newest = (await s.call("GET", `/sandboxes/metrics?sandbox_ids=${sandboxID}`)).body.sandboxes[sandboxID];
    expect(newest).toMatchObject({ timestampUnix: START / 1000 + 5, memUsed: 5 << 20 });
    expect(month.at(-1)).toEqual(newest);
    const day = await metricsOf(sandboxID, `?start=${START / 1000 - 86_400}&end=${START / 1000 - 1}`);
    expect(day.map((sample: { memUsed: number }) => sample.memUsed)).toEqual(Array.from({ length: ofDay }, (_, i) => count - ofDay + i));
  });

  test("begin anew after a pause, whose time is not there, and go on counting", async () => {
    const { sandboxID } = await s.create();
    await round({ cpuUsageUsec: 500_000, networkSentBytes: 100 });
    expect((await s.call("POST", `/sandboxes/${sandboxID}/pause`)).status).toBe(204);
    await clock.advance(600_000);
    await s.server.sampler.once();
    expect((await s.call("POST", `/sandboxes/${sandboxID}/connect`, { timeout: 3000 })).status).toBe(201);
    // The counters of the resumed sandbox begin at 0.
    await round({ cpuUsageUsec: 100_000, networkSentBytes: 7 });
    const samples = await metricsOf(sandboxID);
    const between = samples.filter(
      ({ timestampUnix }: { timestampUnix: number }) => timestampUnix > START / 1000 + 5 && timestampUnix < START / 1000 + 600,
    );
    expect(between).toEqual([]);
    expect(samples.at(-1).networkSentBytes).toBe(107);
    const usage = await usageOf(sandboxID);
    expect([usage.cpuSeconds, usage.networkSentBytes]).toEqual([0.6, 107]);
    expect(usage.runningSeconds).toBeLessThan(20);
  });

  test("of usage are in the sandbox, in the event of its end, after its end, and in the sum of the day", async () => {
    const { sandboxID } = await s.create();
    await s.server.sampler.once();
    await round({ cpuUsageUsec: 2_000_000, networkSentBytes: 50, memoryUsedBytes: 10 << 20 });
    expect((await s.call("GET", `/sandboxes/${sandboxID}`)).body.usage).toMatchObject({ cpuSeconds: 2, networkSentBytes: 50 });
    await clock.advance(5000);
    Object.assign(s.world.sandboxes.get(sandboxID)?.use ?? {}, { cpuUsageUsec: 3_000_000 });
    const from = await s.server.context.store.events.newest();
    await s.call("DELETE", `/sandboxes/${sandboxID}`);
    const usage = await usageOf(sandboxID);
    // 1 MiB for five seconds, then 10 MiB for five.
    expect(usage).toMatchObject({ cpuSeconds: 3, networkSentBytes: 50, runningSeconds: 10, memoryMiBSeconds: 55, reason: "requested" });
    const end = (await s.server.context.store.events.read(from, 100)).find(({ action }) => action === "sandbox.dead");
    expect(end?.after?.usage).toMatchObject({ cpuUsec: 3_000_000, sentBytes: 50 });
    const today = { date: "2030-01-01", sandboxes: 1, cpuSeconds: 3, memoryMiBSeconds: 55 };
    await s.server.sampler.once();
    expect((await s.call("GET", "/usage")).body).toMatchObject({ days: [today], total: { sandboxes: 1, cpuSeconds: 3 } });
    await flush();
    expect((await s.call("GET", "/usage")).body).toMatchObject({ days: [today] });
    await restart();
    expect((await s.call("GET", "/usage")).body).toMatchObject({ days: [today] });
    expect(await usageOf(sandboxID)).toEqual(usage);
    expect((await s.call("GET", "/usage?from=2029-01-01&to=2029-02-01")).body.days).toEqual([]);
    for (const range of ["from=2030-01-02&to=2030-01-01", "from=2000-01-01", "from=x"])
      expect((await s.call("GET", `/usage?${range}`)).status).toBe(400);
  });

  test("of a team: how many sandboxes ran and were created, and the highest of these; of no other team", async () => {
    const teamId = (await s.server.context.store.teams.find("default"))?.id;
    await s.server.sampler.once();
    const ids = [await s.create(), await s.create(), await s.create()];
    await round();
    await s.call("DELETE", `/sandboxes/${ids[0]?.sandboxID}`);
    await round();
    await round();
    const { body } = await s.call("GET", `/teams/${teamId}/metrics`);
    expect(body.slice(-3).map((one: { concurrentSandboxes: number }) => one.concurrentSandboxes)).toEqual([3, 2, 2]);
    expect(body.at(-3).sandboxStartRate).toBe(0.6);
    const max = async (metric: string) => (await s.call("GET", `/teams/default/metrics/max?metric=${metric}`)).body;
    expect([(await max("concurrent_sandboxes")).value, (await max("sandbox_start_rate")).value]).toEqual([3, 0.6]);
    expect((await max("concurrent_sandboxes")).timestampUnix).toBe(START / 1000 + 5);
    expect((await s.call("GET", `/teams/${teamId}/metrics?start=9&end=8`)).status).toBe(400);
    expect((await s.call("GET", "/teams/other/metrics")).status).toBe(404);
    expect((await s.call("GET", "/teams/default/metrics/max?metric=other")).status).toBe(400);
  });

  test("that the store does not take are written later, and counted once", async () => {
    const { sandboxID } = await s.create();
    await round({ cpuUsageUsec: 1_000_000 });
    const { metrics } = s.server.context.store;
    const { writeMeasured } = metrics;
    metrics.writeMeasured = () => Promise.reject(new Error("no"));
    await expect(flush()).rejects.toThrow("no");
    metrics.writeMeasured = writeMeasured;
    expect((await metricsOf(sandboxID)).length).toBeGreaterThan(0);
    await flush();
    await flush();
    expect((await s.call("GET", "/usage")).body.total.cpuSeconds).toBe(1);
    expect((await metricsOf(sandboxID)).length).toBeGreaterThan(0);
  });
});
