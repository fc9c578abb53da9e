import type { TeamId } from "@boxyard/core";
import { FLAGS, type Point, type Rule, VALUES } from "../store/points.ts";
import { SeriesTail } from "./series-tail.ts";

export const TEAM_RULES: readonly Rule[] = ["max", "sum"];

/** Values of a team's point: sandboxes that run, and sandboxes that were created in its span. */
export const TEAM_PLACES = { concurrent: VALUES, starts: VALUES + 1 } as const;

export const seriesOfTeam = (teamId: TeamId): string => `team:${teamId}`;

export function idleTeamPoint(before: Point, time: number, spanMs: number): Point {
  const point = [...before];
  [point[0], point[1]] = [time, spanMs];
  point[FLAGS] = 0;
  point[TEAM_PLACES.starts] = 0;
  return point;
}

interface TeamSeries {
  readonly tail: SeriesTail;
  running: number;
  /** Sandboxes that were created since the last point, and since the last flush. */
  starts: number;
  newSandboxes: number;
}

/** How many sandboxes of each team run, and how many were created. */
export class TeamMetrics {
  private readonly series = new Map<TeamId, TeamSeries>();

  created(teamId: TeamId, now: number): void {
    const series = this.of(teamId, now);
    series.starts += 1;
    series.newSandboxes += 1;
  }

  /** One round: `running` has the team of each sandbox that runs. */
  round(running: Iterable<TeamId>, now: number): void {
    for (const series of this.series.values()) series.running = 0;
    for (const teamId of running) this.of(teamId, now).running += 1;
    for (const { tail, running: count, starts } of this.series.values()) {
      const isSame = !tail.isInterrupted && starts === 0 && tail.last?.[TEAM_PLACES.concurrent] === count;
      if (isSame) tail.unchanged(now);
      else tail.add(now, 0, [count, starts]);
    }
    for (const series of this.series.values()) series.starts = 0;
  }

  tailOf(teamId: TeamId): SeriesTail | undefined {
    return this.series.get(teamId)?.tail;
  }

  /** Sandboxes that were created since the last flush. */
  newSandboxesOf(teamId: TeamId): number {
    return this.series.get(teamId)?.newSandboxes ?? 0;
  }

  all(): IterableIterator<[TeamId, TeamSeries]> {
    return this.series.entries();
  }

  private of(teamId: TeamId, now: number): TeamSeries {
    const known = this.series.get(teamId);
    if (known) return known;
    const series = { tail: new SeriesTail(now), running: 0, starts: 0, newSandboxes: 0 };
    this.series.set(teamId, series);
    return series;
  }
}
