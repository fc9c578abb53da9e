import { AppError, type Clock, type TeamId } from "@boxyard/core";
import type { SandboxMetric } from "@boxyard/spec/platform";
import { resourcesOf, type SandboxRecord, type SandboxUsage, type Store, type UsageDay } from "../store/index.ts";
import { AT, fill, type Point, SPAN, TIERS, thinTo } from "../store/points.ts";
import { addUsage } from "./meter.ts";
import { DAY_MS, dayOf, type Meters } from "./meters.ts";
import { idlePoint, metricOf, SANDBOX_RULES } from "./sandbox-points.ts";
import type { SeriesTail } from "./series-tail.ts";
import { idleTeamPoint, seriesOfTeam, TEAM_PLACES, TEAM_RULES, type TeamMetrics } from "./teams.ts";

/** In Unix seconds, both included. Without them: everything that is kept. */
export interface MetricRange {
  readonly start?: number | undefined;
  readonly end?: number | undefined;
}

/** What a team had at a time. */
export interface TeamMetric {
  readonly timestamp: string;
  readonly timestampUnix: number;
  readonly concurrentSandboxes: number;
  /** Sandboxes created per second. */
  readonly sandboxStartRate: number;
}

export interface HistoryParts {
  readonly store: Pick<Store, "metrics">;
  readonly meters: Meters;
  readonly teams: TeamMetrics;
  readonly clock: Clock;
}

/** Points of one answer, 400 kB: a day in steps of a minute, ten days in steps of ten minutes, a month in steps of half an hour. */
const MAX_POINTS = 1500;

type Idle = (before: Point, time: number, spanMs: number) => Point;

/** Answers what was measured: from the store, and from memory what the store does not have yet. */
export class MetricHistory {
  private readonly parts: HistoryParts;

  constructor(parts: HistoryParts) {
    this.parts = parts;
  }

  /** Points of one sandbox, oldest first, of a longer step where there are too many. Throws `invalid_argument`; the store's faults. */
  async ofSandbox(record: SandboxRecord, range: MetricRange): Promise<SandboxMetric[]> {
    const { id } = record;
    const points = await this.points(id, this.parts.meters.find(id)?.tail, range, idlePoint);
    const resources = resourcesOf(record);
    return thinTo(points, MAX_POINTS, SANDBOX_RULES).map((point) => metricOf(point, resources));
  }

  /** The newest point of a sandbox; undefined before its first. */
  newest(record: SandboxRecord): SandboxMetric | undefined {
    const { id } = record;
    const tail = this.parts.meters.find(id)?.tail;
    if (!tail?.last) return undefined;
    const isIdle = tail.seenUntil - (tail.last[AT] ?? 0) >= TIERS[0].stepMs;
    return metricOf(isIdle ? idlePoint(tail.last, tail.seenUntil, TIERS[0].stepMs) : tail.last, resourcesOf(record));
  }

  /** The same, also of a sandbox that is paused since before this server began. Throws the store's faults. */
  async lastOf(record: SandboxRecord): Promise<SandboxMetric | undefined> {
    const newest = this.newest(record);
    if (newest) return newest;
    const stored = await this.parts.store.metrics.meterOf(record.id);
    return stored && metricOf(stored.point, resourcesOf(record));
  }

  /** What a team had over time, oldest first, of a longer step where there is too much. */
  async ofTeam(teamId: TeamId, range: MetricRange): Promise<TeamMetric[]> {
    return thinTo(await this.pointsOfTeam(teamId, range), MAX_POINTS, TEAM_RULES).map(teamMetricOf);
  }

  /** The point of a team with the highest value, the first of several; undefined when there is none. */
  async highestOfTeam(
    teamId: TeamId,
    range: MetricRange,
    name: "concurrentSandboxes" | "sandboxStartRate",
  ): Promise<TeamMetric | undefined> {
    const measured = TEAM_VALUES[name];
    let highest: Point | undefined;
    for (const point of await this.pointsOfTeam(teamId, range)) if (!highest || measured(point) > measured(highest)) highest = point;
    return highest && teamMetricOf(highest);
  }

  /** What a sandbox has used so far; undefined before its first measurement. */
  usageOf(record: SandboxRecord): SandboxUsage | undefined {
    return record.usage ?? this.parts.meters.find(record.id)?.usage;
  }

  /** What a team has used on each day, oldest first, with the present day up to now. Days without usage are left out. */
  async daysOf(teamId: TeamId, from: number, to: number): Promise<UsageDay[]> {
    const days = await this.parts.store.metrics.usageDays(teamId, from, to);
    const today = dayOf(this.parts.clock.now());
    if (today < from || today > to) return days;
    const { sandboxes: counted, ...usage } = this.parts.meters.uncountedOf(teamId);
    const sandboxes = counted + this.parts.teams.newSandboxesOf(teamId);
    const known = days.find(({ day }) => day === today);
    if (!known && sandboxes === 0 && Object.values(usage).every((value) => value === 0)) return days;
    const whole = known ? addUsage(known, usage) : usage;
    const others = days.filter(({ day }) => day !== today);
    return [...others, { ...whole, teamId, day: today, sandboxes: (known?.sandboxes ?? 0) + sandboxes }];
  }

  private pointsOfTeam(teamId: TeamId, range: MetricRange): Promise<Point[]> {
    return this.points(seriesOfTeam(teamId), this.parts.teams.tailOf(teamId), range, idleTeamPoint);
  }

  private async points(series: string, tail: SeriesTail | undefined, range: MetricRange, idle: Idle): Promise<Point[]> {
    const { start, end } = checked(range);
    const now = this.parts.clock.now();
    const pending = tail?.pending ?? [];
    // One more day, for the point before: nothing may have changed since then.
    const stored = await this.parts.store.metrics.read(series, start - DAY_MS, Math.min(end, now));
    const newest = stored.at(-1)?.[AT] ?? Number.NEGATIVE_INFINITY;
    const known = [...stored, ...pending.filter((point) => (point[AT] ?? 0) > newest)];
    const isKnownIdle = tail?.last !== undefined && tail.last[AT] === known.at(-1)?.[AT];
    const filled = fill(known, idle, now, isKnownIdle ? tail.seenUntil : undefined);
    return filled.filter((point) => (point[AT] ?? 0) >= start && (point[AT] ?? 0) <= end);
  }
}

/** The range in milliseconds: the whole second of `end` belongs to it. */
function checked({ start = 0, end }: MetricRange): { start: number; end: number } {
  if (end !== undefined && start > end) {
    throw new AppError("invalid_argument", "start: must not be after end", { reason: "invalid_range" });
  }
  return { start: start * 1000, end: end === undefined ? Number.MAX_SAFE_INTEGER : end * 1000 + 999 };
}

const TEAM_VALUES = {
  concurrentSandboxes: (point: Point) => point[TEAM_PLACES.concurrent] ?? 0,
  sandboxStartRate: (point: Point) => {
    const seconds = Math.max(1, (point[SPAN] ?? 0) / 1000);
    return Math.round(((point[TEAM_PLACES.starts] ?? 0) / seconds) * 1000) / 1000;
  },
};

function teamMetricOf(point: Point): TeamMetric {
  const time = point[AT] ?? 0;
  return {
    timestamp: new Date(time).toISOString(),
    timestampUnix: Math.floor(time / 1000),
    concurrentSandboxes: TEAM_VALUES.concurrentSandboxes(point),
    sandboxStartRate: TEAM_VALUES.sandboxStartRate(point),
  };
}
