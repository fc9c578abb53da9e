import type { SandboxId, TeamId } from "@boxyard/core";
import type { Point, Rule } from "./points.ts";

/** What a sandbox has used since its creation. Whole numbers. */
export interface SandboxUsage {
  readonly cpuUsec: number;
  /** Memory in use, added up over the time that the sandbox ran, in MiB times milliseconds. */
  readonly memoryMibMs: number;
  readonly runningMs: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** What the server keeps of a sandbox's measurement, to go on with it after a restart. */
export interface StoredMeter extends SandboxUsage {
  /** Wall time of the last measurement, in milliseconds; the usage is that of then. */
  readonly at: number;
  /** True: the sandbox did not run after that. */
  readonly isStopped: boolean;
  /** The driver's counters of then: CPU time in microseconds, bytes received, bytes sent. */
  readonly counters: readonly [cpuUsec: number, received: number, sent: number];
  /** The last point of the series. */
  readonly point: Point;
}

/** What the sandboxes of a team have used on one day (UTC). */
export interface UsageDay extends SandboxUsage {
  readonly teamId: TeamId;
  /** The day's first millisecond. */
  readonly day: number;
  /** Sandboxes that were created. */
  readonly sandboxes: number;
}

/** What is written together: all of it or nothing. */
export interface MetricBatch {
  /** New points of series, oldest first. The series of a sandbox is its id. */
  readonly points: readonly { readonly series: string; readonly points: readonly Point[] }[];
  readonly meters: readonly { readonly id: SandboxId; readonly meter: StoredMeter }[];
  /** Added to what the days have. */
  readonly days: readonly UsageDay[];
  /** Time of the last round of measurements. */
  readonly roundAt: number;
}

/** The history of measurements, thinned with age, and sums of usage. Counters have no events. */
export interface MetricStore {
  writeMeasured(batch: MetricBatch): Promise<void>;
  /** Stored points of a series from `start` to `end` (milliseconds, both included), oldest first; some points before `start` may come with them. */
  read(series: string, start: number, end: number): Promise<Point[]>;
  /** Time of the last round of measurements that this node's server has written; undefined before the first. */
  lastRound(): Promise<number | undefined>;
  /** The meter of a sandbox; undefined if it was never measured. */
  meterOf(id: SandboxId): Promise<StoredMeter | undefined>;
  /**
   * Replaces points that are older than their tier keeps by fewer ones of the next tier, and removes those older than the last tier keeps. Handles
   * some series in one call: true when there are more. `rulesOf` tells how points of a series become one.
   */
  thin(now: number, rulesOf: (series: string) => readonly Rule[]): Promise<boolean>;
  /** The days of a team from `from` to `to` (milliseconds, both included), oldest first; those without usage are left out. */
  usageDays(teamId: TeamId, from: number, to: number): Promise<UsageDay[]>;
  /** Removes days before `time`. */
  pruneDays(time: number): Promise<void>;
}
