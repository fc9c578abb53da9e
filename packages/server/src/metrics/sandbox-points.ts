import type { ResourceLimits, ResourceStats } from "@boxyard/driver";
import type { SandboxMetric } from "@boxyard/spec/platform";
import type { SandboxUsage } from "../store/index.ts";
import { AT, FLAGS, type Point, type Rule, SPAN, UNRESPONSIVE, VALUES } from "../store/points.ts";

/** The values of a sandbox's point: CPU time of its span in microseconds, then bytes. */
const PLACES = {
  cpuUsec: VALUES,
  memory: VALUES + 1,
  cache: VALUES + 2,
  disk: VALUES + 3,
  received: VALUES + 4,
  sent: VALUES + 5,
} as const;

export const SANDBOX_RULES: readonly Rule[] = ["sum", "max", "max", "max", "last", "last"];

export function pointValues(stats: ResourceStats, cpuUsec: number, { receivedBytes, sentBytes }: SandboxUsage): number[] {
  return [cpuUsec, stats.memoryUsedBytes, stats.memoryCacheBytes, stats.diskUsedBytes, receivedBytes, sentBytes];
}

/** The point of a sandbox that has done nothing since the point before. */
export function idlePoint(before: Point, time: number, spanMs: number): Point {
  const point = [...before];
  point[AT] = time;
  point[SPAN] = spanMs;
  point[FLAGS] = (before[FLAGS] ?? 0) & UNRESPONSIVE;
  point[PLACES.cpuUsec] = 0;
  return point;
}

export const memoryOf = (point: Point): number => point[PLACES.memory] ?? 0;

/** A point as clients see it. */
export function metricOf(point: Point, { cpuCount, memoryBytes, diskBytes }: ResourceLimits): SandboxMetric {
  const value = (place: number) => point[place] ?? 0;
  const time = value(AT);
  return {
    timestamp: new Date(time).toISOString(),
    timestampUnix: Math.floor(time / 1000),
    cpuCount,
    cpuUsedPct: percent(value(PLACES.cpuUsec) / (value(SPAN) * 1000 * cpuCount)),
    memUsed: value(PLACES.memory),
    memTotal: memoryBytes,
    memCache: value(PLACES.cache),
    diskUsed: value(PLACES.disk),
    diskTotal: diskBytes,
    networkReceivedBytes: value(PLACES.received),
    networkSentBytes: value(PLACES.sent),
    ...(value(FLAGS) & UNRESPONSIVE ? { health: "unresponsive" as const } : {}),
  };
}

/** A percentage with two decimals, rounded up: a sandbox that used any time never has 0. */
const percent = (share: number) => (Number.isFinite(share) ? Math.ceil(Math.max(0, share) * 10_000) / 100 : 0);
