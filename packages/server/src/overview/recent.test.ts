import { expect, test } from "bun:test";
import { AppError, FakeClock } from "@boxyard/core";
import { RecentWork } from "./recent.ts";

const MINUTE = 60_000;

function made(clock = new FakeClock()) {
  const recent = new RecentWork(clock);
  const take = (transition: string, ms: number, { owner = "user", isOk = true } = {}) => recent.begin(transition, owner)?.end(ms, isOk);
  return { clock, recent, take };
}

test("creates of users in each minute: those of the pool count when they are claimed, those of builds do not", async () => {
  const { clock, recent, take } = made();
  take("create", 10);
  take("create", 10, { isOk: false });
  take("create", 10, { owner: "build" });
  take("warm", 10, { owner: "pool" });
  take("claim", 3, { owner: "pool" });
  await clock.advance(MINUTE);
  take("create", 10);
  expect([recent.createsPerMinute().length, ...recent.createsPerMinute().slice(-3)]).toEqual([60, 0, 2, 1]);
  await clock.advance(70 * MINUTE);
  take("create", 10);
  expect(recent.createsPerMinute().reduce((sum, count) => sum + count, 0)).toBe(1);
});

test("latencies are those of the last quarter of an hour, of what has succeeded", async () => {
  const { clock, recent, take } = made();
  for (let ms = 1; ms <= 100; ms++) take("create", ms);
  take("create", 9999, { isOk: false });
  take("pause", 7);
  expect(recent.latencies()).toEqual([
    { change: "create", count: 100, failed: 1, p50Ms: 50, p95Ms: 95, p99Ms: 99 },
    { change: "pause", count: 1, failed: 0, p50Ms: 7, p95Ms: 7, p99Ms: 7 },
  ]);
  await clock.advance(16 * MINUTE);
  expect(recent.latencies()).toEqual([]);
});

test("of very many changes the newest thousand count, and memory stays bounded", () => {
  const { recent, take } = made();
  for (let i = 0; i < 5000; i++) take("create", i);
  const [latency] = recent.latencies();
  expect([latency?.count, latency?.p50Ms]).toEqual([1000, 4499]);
  for (let i = 0; i < 500; i++) recent.refused(new AppError("unavailable", "no", { reason: `reason_${i}` }));
  expect([recent.limitsMet().length, recent.limitsMet()[0]?.reason]).toEqual([100, "reason_499"]);
});

test("refusals by reason and limit, the newest first", async () => {
  const { clock, recent } = made();
  const met = (limit: string) => new AppError("resource_exhausted", "met", { reason: "team_limit", details: { limit, value: 1 } });
  recent.refused(met("cpus"));
  recent.refused(met("sandboxes"));
  await clock.advance(5);
  recent.refused(met("cpus"));
  expect(recent.limitsMet()).toEqual([
    { reason: "team_limit", limit: "cpus", count: 2, lastAt: clock.now() },
    { reason: "team_limit", limit: "sandboxes", count: 1, lastAt: clock.now() - 5 },
  ]);
});
