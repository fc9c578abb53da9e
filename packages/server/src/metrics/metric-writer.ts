import type { Clock } from "@boxyard/core";
import type { MetricBatch, Store } from "../store/index.ts";
import type { Point, Rule } from "../store/points.ts";
import { type Meter, NO_USAGE } from "./meter.ts";
import type { Meters } from "./meters.ts";
import { SANDBOX_RULES } from "./sandbox-points.ts";
import type { SeriesTail } from "./series-tail.ts";
import { seriesOfTeam, TEAM_RULES, type TeamMetrics } from "./teams.ts";

const FLUSH_MS = 30_000;
/** How often what idle sandboxes use is written too. */
const ACCOUNT_MS = 3_600_000;
const THIN_MS = 600_000;
/** Calls of `thin` in one go. */
const MAX_THIN = 200;
const KEEP_DAYS_MS = 400 * 86_400_000;

export interface MetricWriterParts {
  readonly meters: Meters;
  readonly teams: TeamMetrics;
  readonly store: Pick<Store, "metrics">;
  readonly clock: Clock;
}

/** Brings measurements to the store, many at once, and thins what is there. */
export class MetricWriter {
  private readonly parts: MetricWriterParts;
  private flushedAt: number;
  private accountedAt: number;
  private thinnedAt = Number.NEGATIVE_INFINITY;
  private writing: Promise<void> = Promise.resolve();

  constructor(parts: MetricWriterParts) {
    this.parts = parts;
    this.flushedAt = parts.clock.now();
    this.accountedAt = this.flushedAt;
  }

  /** To be called after each round of measurements; writes when it is time. Throws what the store throws. */
  async afterRound(signal?: AbortSignal): Promise<void> {
    const now = this.parts.clock.now();
    if (Math.abs(now - this.flushedAt) < FLUSH_MS) return;
    await this.flush();
    if (Math.abs(now - this.thinnedAt) < THIN_MS) return;
    this.thinnedAt = now;
    for (let calls = 0; calls < MAX_THIN && !signal?.aborted; calls++) if (!(await this.parts.store.metrics.thin(now, rulesOf))) break;
    await this.parts.store.metrics.pruneDays(now - KEEP_DAYS_MS);
  }

  /** Writes everything that the store does not have. What it does not take is tried again with the next flush. */
  flush(): Promise<void> {
    this.writing = this.writing.catch(() => {}).then(() => this.write());
    return this.writing;
  }

  private async write(): Promise<void> {
    const { meters, teams, store, clock } = this.parts;
    const now = clock.now();
    this.flushedAt = now;
    // Also at the first flush of a day (UTC), so that each day has what was used on it.
    const isHour = Math.floor(now / ACCOUNT_MS) !== Math.floor(this.accountedAt / ACCOUNT_MS);
    if (isHour) this.accountedAt = now;

    const given: { readonly tail: SeriesTail; readonly series: string; readonly points: readonly Point[] }[] = [];
    const take = (series: string, tail: SeriesTail) => {
      if (tail.pending.length > 0) given.push({ tail, series, points: [...tail.pending] });
    };
    const changed: Meter[] = [];
    const rows: MetricBatch["meters"][number][] = [];
    for (const [id, { meter, teamId }] of meters.entries()) {
      take(id, meter.tail);
      if (isHour) meter.account();
      if (!meter.isChanged || !meter.stored) continue;
      meters.count(teamId, { ...meter.takeUncounted(), sandboxes: 0 });
      rows.push({ id, meter: meter.stored });
      changed.push(meter);
    }
    for (const [teamId, team] of teams.all()) {
      take(seriesOfTeam(teamId), team.tail);
      if (team.newSandboxes > 0) meters.count(teamId, { ...NO_USAGE, sandboxes: team.newSandboxes });
      team.newSandboxes = 0;
    }
    const days = meters.takeDays();
    try {
      await store.metrics.writeMeasured({
        points: given.map(({ series, points }) => ({ series, points })),
        meters: rows,
        days,
        roundAt: now,
      });
    } catch (error) {
      for (const day of days) meters.giveBackDay(day);
      for (const meter of changed) meter.isChanged = true;
      throw error;
    }
    for (const { tail, points } of given) tail.taken(points);
  }
}

const rulesOf = (series: string): readonly Rule[] => (series.startsWith("team:") ? TEAM_RULES : SANDBOX_RULES);
