import type { ResourceStats } from "@boxyard/driver";
import type { SandboxUsage, StoredMeter } from "../store/index.ts";
import { AT, TIERS } from "../store/points.ts";
import { idlePoint, memoryOf, pointValues } from "./sandbox-points.ts";
import { SeriesTail } from "./series-tail.ts";

type Counters = StoredMeter["counters"];

export const NO_USAGE: SandboxUsage = { cpuUsec: 0, memoryMibMs: 0, runningMs: 0, receivedBytes: 0, sentBytes: 0 };

const MEMBERS = Object.keys(NO_USAGE) as (keyof SandboxUsage)[];

/** `a` plus `sign` times `b`. */
export const addUsage = (a: SandboxUsage, b: SandboxUsage, sign: 1 | -1 = 1): SandboxUsage =>
  Object.fromEntries(MEMBERS.map((name) => [name, a[name] + sign * b[name]])) as unknown as SandboxUsage;

/** The measurement of one sandbox: what it has used so far, and the newest points of its series. */
export class Meter {
  readonly tail: SeriesTail;
  /** True if the store does not have the usage as it is here. */
  isChanged = false;
  private used: SandboxUsage;
  /** The part of the usage that the sums of days have. */
  private counted: SandboxUsage;
  /** Wall time in milliseconds up to which `used` goes. */
  private at: number;
  private counters: Counters;
  private isStopped: boolean;

  /**
   * @param startedAt Wall time of the sandbox's start, for one that was never measured.
   * @param stored What an earlier server has written.
   * @param lastRound Time of that server's last round, until which a sandbox that it has not written was idle.
   * @param before The driver's counters at its start, for one that was never measured.
   */
  constructor(startedAt: number, stored?: StoredMeter, lastRound = 0, before: Counters = [0, 0, 0]) {
    const { at = startedAt, isStopped = false, counters = before, point } = stored ?? {};
    this.used = stored ? addUsage(NO_USAGE, stored) : NO_USAGE;
    this.counted = this.used;
    this.at = at;
    this.counters = counters;
    this.isStopped = isStopped;
    const seenUntil = stored && !isStopped ? Math.max(at, lastRound) : at;
    this.tail = new SeriesTail(seenUntil, point);
    if (point && seenUntil - (point[AT] ?? 0) >= 2 * TIERS[0].stepMs) this.tail.push(idlePoint(point, seenUntil, TIERS[0].stepMs));
  }

  /** The driver's CPU counter at the last measurement. */
  get cpuCounter(): number {
    return this.counters[0];
  }

  /** Whether the next measurement gives a point even if no counter has changed. */
  get isDue(): boolean {
    return this.tail.isInterrupted;
  }

  measured(stats: ResourceStats, now: number, flags: number): void {
    if (this.isStopped) {
      // It runs again since the last round at most.
      this.at = Math.max(this.at, now - TIERS[0].stepMs);
      this.tail.interrupted(this.at);
    }
    const counters: Counters = [stats.cpuUsageUsec, stats.networkReceivedBytes, stats.networkSentBytes];
    // Counters begin at 0 again when a sandbox was resumed from its disk.
    const [cpuUsec, receivedBytes, sentBytes] = counters.map(
      (count, i) => count - (count < (this.counters[i] ?? 0) ? 0 : (this.counters[i] ?? 0)),
    ) as [number, number, number];
    this.passTo(now, this.tail.last ? memoryOf(this.tail.last) : stats.memoryUsedBytes);
    this.used = addUsage(this.used, { ...NO_USAGE, cpuUsec, receivedBytes, sentBytes });
    this.counters = counters;
    this.isStopped = false;
    this.tail.add(now, flags, pointValues(stats, cpuUsec, this.used));
  }

  /** Nothing of the sandbox has changed since the last measurement. */
  unchanged(now: number): void {
    this.tail.unchanged(now);
  }

  /** The sandbox's processes end now; it was measured just before if that was possible. */
  stopped(now: number): void {
    this.account(now);
    this.isStopped = true;
    this.tail.interrupted(now);
  }

  /** Brings the usage up to `until`, without a measurement: an idle sandbox still uses its memory. */
  account(until = this.tail.seenUntil): void {
    this.passTo(until, this.tail.last ? memoryOf(this.tail.last) : 0);
  }

  /** What the sandbox has used until it was seen last. */
  get usage(): SandboxUsage {
    const { seenUntil, last } = this.tail;
    return addUsage(this.used, held(last ? memoryOf(last) : 0, this.isStopped ? 0 : seenUntil - this.at));
  }

  /** The part of the usage that no day has. */
  get uncounted(): SandboxUsage {
    return addUsage(this.usage, this.counted, -1);
  }

  /** What is to be stored; undefined before the first measurement. */
  get stored(): StoredMeter | undefined {
    const { last: point } = this.tail;
    return point && { ...this.used, at: this.at, isStopped: this.isStopped, counters: this.counters, point };
  }

  /** The used part that no day has yet, which counts as counted from now on. The caller writes it, with `stored`. */
  takeUncounted(): SandboxUsage {
    const taken = addUsage(this.used, this.counted, -1);
    this.counted = this.used;
    this.isChanged = false;
    return taken;
  }

  private passTo(now: number, memoryBytes: number): void {
    this.used = addUsage(this.used, held(memoryBytes, now - this.at));
    this.at = now;
    this.isChanged = true;
  }
}

function held(memoryBytes: number, ms: number): SandboxUsage {
  const runningMs = Math.max(0, ms);
  return { ...NO_USAGE, runningMs, memoryMibMs: Math.round((memoryBytes / 2 ** 20) * runningMs) };
}
