import { AppError, type Clock, type SandboxId, type TeamId, within } from "@boxyard/core";
import type { ResourceStats, SandboxDriver, SandboxHandle } from "@boxyard/driver";
import type { SandboxRecord, SandboxUsage, Store, UsageDay } from "../store/index.ts";
import { UNRESPONSIVE } from "../store/points.ts";
import { addUsage, Meter, NO_USAGE } from "./meter.ts";

export const DAY_MS = 86_400_000;
/** How long one measurement may take. */
const STATS_MS = 4000;
/** How long the last measurement of a sandbox may keep its pause or its end waiting. */
const SETTLE_MS = 1000;

export interface MetersParts {
  readonly store: Pick<Store, "metrics">;
  readonly clock: Clock;
}

/** A sandbox, as far as it is measured: the engine's. */
export interface Measured {
  readonly id: SandboxId;
  readonly record: SandboxRecord;
  readonly driver: Pick<SandboxDriver, "stats">;
  readonly handle: SandboxHandle;
}

/** What transitions tell the measurement of sandboxes. */
export interface Metering {
  /** Measures a sandbox whose processes are about to end. Never throws. Returns what it has used; undefined if users do not own it. */
  settle(sandbox: Measured): Promise<SandboxUsage | undefined>;
  /** The same before a pause, whose processes take the kernel's counters with them: also brings it to the store. */
  keep(sandbox: Measured): Promise<void>;
  /** A sandbox was created. `before`: the CPU time that it had used by then, for one of the pool that has waited. */
  created(record: SandboxRecord, before?: { readonly cpuUsec: number }): void;
}

/** The meters of sandboxes that users own and that are not dead, and the sums of days that the store does not have yet. */
export class Meters {
  private readonly parts: MetersParts;
  private readonly byId = new Map<SandboxId, { readonly meter: Meter; readonly teamId: TeamId }>();
  private readonly days = new Map<string, UsageDay>();
  /** Sandboxes whose measurement has not ended, also if nobody waits for it any more. */
  private readonly measuring = new WeakSet<Measured>();
  private lastRound = 0;

  constructor(parts: MetersParts) {
    this.parts = parts;
  }

  /** To be called before the first round: what an earlier server has seen last. */
  async open(): Promise<void> {
    this.lastRound = (await this.parts.store.metrics.lastRound()) ?? 0;
  }

  find(id: SandboxId): Meter | undefined {
    return this.byId.get(id)?.meter;
  }

  /** The usage of a sandbox of the pool begins when a user gets it. One that was measured before this is known goes on as it is: it must not count twice. */
  begin(record: SandboxRecord, cpuUsec: number): void {
    if (this.byId.has(record.id)) return;
    const meter = new Meter(record.startedAt ?? record.createdAt, undefined, this.lastRound, [cpuUsec, 0, 0]);
    this.byId.set(record.id, { meter, teamId: record.teamId });
  }

  isMeasuring(sandbox: Measured): boolean {
    return this.measuring.has(sandbox);
  }

  entries(): IterableIterator<[SandboxId, { readonly meter: Meter; readonly teamId: TeamId }]> {
    return this.byId.entries();
  }

  /** Measures a sandbox. Nothing happens if that fails: the sandbox ends meanwhile, or the driver takes too long. */
  async measure(sandbox: Measured, isUnresponsive: boolean): Promise<void> {
    const [meter, stats] = await Promise.all([this.meterOf(sandbox.record), this.statsOf(sandbox, STATS_MS)]);
    if (stats && sandbox.record.state === "running") meter.measured(stats, this.parts.clock.now(), isUnresponsive ? UNRESPONSIVE : 0);
  }

  /** See `Metering`. */
  async settle(sandbox: Measured): Promise<SandboxUsage | undefined> {
    if (sandbox.record.owner.kind !== "user") return undefined;
    try {
      const [meter, stats] = await Promise.all([this.meterOf(sandbox.record), this.statsOf(sandbox, SETTLE_MS)]);
      const now = this.parts.clock.now();
      if (stats) meter.measured(stats, now, 0);
      meter.stopped(now);
      return meter.usage;
    } catch {
      // The store does not answer. What was used since the last write is not known then.
      return this.find(sandbox.id)?.usage;
    }
  }

  /** Forgets the meters of sandboxes that are not among these; what they have used stays in the sums. */
  keepOnly(isLiving: (id: SandboxId) => boolean): void {
    for (const [id, { meter, teamId }] of this.byId) {
      if (isLiving(id)) continue;
      this.byId.delete(id);
      this.count(teamId, { ...meter.takeUncounted(), sandboxes: 0 });
    }
  }

  /** Adds to the sum of a team's present day. */
  count(teamId: TeamId, usage: SandboxUsage & { readonly sandboxes: number }): void {
    this.giveBackDay({ ...usage, teamId, day: dayOf(this.parts.clock.now()) });
  }

  /** Adds to the sum of a day; also for what `takeDays` has given and the store has not taken. */
  giveBackDay(usage: UsageDay): void {
    const { teamId, day } = usage;
    const key = `${teamId} ${day}`;
    const known = this.days.get(key) ?? { ...NO_USAGE, teamId, day, sandboxes: 0 };
    this.days.set(key, { ...addUsage(known, usage), teamId, day, sandboxes: known.sandboxes + usage.sandboxes });
  }

  /** The sums that the store does not have; they are the caller's then. */
  takeDays(): UsageDay[] {
    const days = [...this.days.values()];
    this.days.clear();
    return days;
  }

  /** What a team has used that no day of the store has. */
  uncountedOf(teamId: TeamId): SandboxUsage & { readonly sandboxes: number } {
    let sum = NO_USAGE;
    let sandboxes = 0;
    for (const { meter, teamId: team } of this.byId.values()) if (team === teamId) sum = addUsage(sum, meter.uncounted);
    for (const day of this.days.values()) {
      if (day.teamId !== teamId) continue;
      sum = addUsage(sum, day);
      sandboxes += day.sandboxes;
    }
    return { ...sum, sandboxes };
  }

  private async meterOf(record: SandboxRecord): Promise<Meter> {
    const known = this.find(record.id);
    if (known) return known;
    const stored = await this.parts.store.metrics.meterOf(record.id);
    // Another caller may have made it meanwhile.
    const meter = this.find(record.id) ?? new Meter(record.startedAt ?? record.createdAt, stored, this.lastRound);
    this.byId.set(record.id, { meter, teamId: record.teamId });
    return meter;
  }

  /** Undefined for a sandbox that cannot be measured now. A measurement that hangs is not begun a second time. */
  private async statsOf(sandbox: Measured, limitMs: number): Promise<ResourceStats | undefined> {
    if (this.measuring.has(sandbox)) return undefined;
    this.measuring.add(sandbox);
    const measured = sandbox.driver.stats(sandbox.handle).finally(() => this.measuring.delete(sandbox));
    return within(measured, limitMs, tooLong, this.parts.clock).catch(() => undefined);
  }
}

export const dayOf = (time: number): number => Math.floor(time / DAY_MS) * DAY_MS;

const tooLong = () => new AppError("deadline_exceeded", "Measuring the sandbox takes too long");
