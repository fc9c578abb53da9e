import type { AppError, Clock } from "@boxyard/core";
import type { RunTimes, Timings } from "../prometheus/instruments.ts";

const MINUTE_MS = 60_000;
/** Minutes of which the creates are counted. */
const MINUTES = 60;
/** Latencies are those of the newest changes of a kind within this time. */
const LATENCY_MS = 15 * MINUTE_MS;
const MOST_TIMES = 1000;
/** Kinds of changes, and reasons of refusals: names of this program, so there are few. */
const MOST_NAMES = 100;

interface Timed {
  readonly at: number;
  readonly ms: number;
  readonly isOk: boolean;
}

interface Refused {
  readonly reason: string;
  readonly limit?: string;
  readonly count: number;
  /** Milliseconds since 1970. */
  readonly lastAt: number;
}

/** How long the changes of one kind took: of those that were made, in milliseconds. */
export interface Latency {
  readonly change: string;
  readonly count: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
}

/** What the server has done lately, for people who look: the newest changes of sandboxes with their times, and what was refused. In memory, and bounded. */
export class RecentWork implements Timings {
  private readonly clock: Clock;
  private readonly times = new Map<string, Timed[]>();
  private readonly refusals = new Map<string, Refused>();
  /** Creates by the number of their minute. */
  private readonly creates = new Map<number, number>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** `owner`: whose sandbox it is. Those of builds and those that are made ahead are no creates of a user. */
  begin(transition: string, owner: string): RunTimes | undefined {
    const isCreate = transition === "claim" || transition === "create";
    if (owner === "build" || (owner === "pool" && transition !== "claim") || transition === "warm") return undefined;
    return {
      step() {},
      end: (ms, isOk) => {
        this.add(isCreate ? "create" : transition, { at: this.clock.monotonic(), ms, isOk });
        if (isCreate && isOk) this.countCreate();
      },
    };
  }

  /** A request was refused with an error of the codes for limits, or for what is away. */
  refused({ reason, details }: AppError): void {
    const limit = typeof details.limit === "string" ? details.limit : undefined;
    const key = `${reason} ${limit ?? ""}`;
    const count = (this.refusals.get(key)?.count ?? 0) + 1;
    this.refusals.delete(key);
    this.refusals.set(key, { reason, ...(limit !== undefined && { limit }), count, lastAt: this.clock.now() });
    const [oldest] = this.refusals.keys();
    if (this.refusals.size > MOST_NAMES && oldest !== undefined) this.refusals.delete(oldest);
  }

  /** Newest first. */
  limitsMet(): Refused[] {
    return [...this.refusals.values()].reverse();
  }

  /** Creates of users in each minute of the last hour, the oldest first; the last one is the minute that runs. */
  createsPerMinute(): number[] {
    const now = this.minute();
    return Array.from({ length: MINUTES }, (_, i) => this.creates.get(now - MINUTES + 1 + i) ?? 0);
  }

  /** The kinds of changes of which there were any lately, by name. */
  latencies(): Latency[] {
    const since = this.clock.monotonic() - LATENCY_MS;
    return [...this.times]
      .map(([change, all]) =>
        latencyOf(
          change,
          all.filter(({ at }) => at >= since),
        ),
      )
      .filter(({ count, failed }) => count + failed > 0)
      .sort((a, b) => (a.change < b.change ? -1 : 1));
  }

  private add(change: string, timed: Timed): void {
    const own = this.times.get(change) ?? [];
    if (own.length === 0 && this.times.size >= MOST_NAMES) return;
    // Twice the number before the old ones go, so that each one costs the same.
    this.times.set(change, own.length >= 2 * MOST_TIMES ? [...own.slice(-MOST_TIMES + 1), timed] : own);
    if (own.length < 2 * MOST_TIMES) own.push(timed);
  }

  private countCreate(): void {
    const now = this.minute();
    this.creates.set(now, (this.creates.get(now) ?? 0) + 1);
    for (const minute of this.creates.keys()) if (minute <= now - MINUTES) this.creates.delete(minute);
  }

  private minute(): number {
    return Math.floor(this.clock.monotonic() / MINUTE_MS);
  }
}

function latencyOf(change: string, recent: readonly Timed[]): Latency {
  const newest = recent.slice(-MOST_TIMES);
  const times = newest.flatMap(({ ms, isOk }) => (isOk ? [ms] : [])).sort((a, b) => a - b);
  const at = (part: number) => times[Math.min(times.length - 1, Math.ceil(part * times.length) - 1)] ?? 0;
  return { change, count: times.length, failed: newest.length - times.length, p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) };
}
