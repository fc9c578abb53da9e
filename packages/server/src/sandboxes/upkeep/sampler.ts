import { AppError, atOnce, type Clock, Rounds, type SandboxId, within } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { Meters } from "../../metrics/meters.ts";
import type { MetricWriter } from "../../metrics/metric-writer.ts";
import type { TeamMetrics } from "../../metrics/teams.ts";
import { isStoreFault } from "../../store/index.ts";
import { UNRESPONSIVE } from "../../store/points.ts";
import type { LivingSandboxes } from "../engine/living.ts";
import type { Sandbox } from "../engine/sandbox.ts";
import type { Liveness } from "./liveness.ts";
import type { UseWatch } from "./use-watch.ts";

const EVERY_MS = 5000;
const AT_ONCE = 4;
/** How long reading the CPU times of all sandboxes may take. */
const TIMES_MS = 4000;

export interface SamplerParts {
  readonly sandboxes: LivingSandboxes;
  readonly clock: Clock;
  readonly liveness: Pick<Liveness, "isUnresponsive">;
  readonly use: Pick<UseWatch, "measured">;
  readonly meters: Meters;
  readonly teams: TeamMetrics;
  readonly writer: MetricWriter;
  readonly logger: Logger;
}

/**
 * Measures the running sandboxes of users every five seconds, from outside: the agent is not asked. A sandbox whose CPU time is what it was has done
 * nothing, and is not measured. Each measurement also makes the driver refresh the figures of the disk that it gives the agent.
 */
export class Sampler {
  private readonly parts: SamplerParts;
  private readonly rounds: Rounds;
  private current: Promise<void> = Promise.resolve();

  constructor(parts: SamplerParts) {
    this.parts = parts;
    const { clock, logger } = parts;
    const onError = (error: unknown) => logger.error({ err: error }, "a round of measurements failed; it will be tried again");
    this.rounds = new Rounds((signal) => this.round(signal), { clock, everyMs: EVERY_MS, isFirstAtOnce: true, onError });
  }

  start(): void {
    this.rounds.start();
  }

  /** Also writes what the store does not have yet. The log says already when the store takes no changes, and on a full disk it has little room itself. */
  async stop(): Promise<void> {
    await this.rounds.stop();
    const { writer, logger } = this.parts;
    await writer.flush().catch((error: unknown) => {
      if (!isStoreFault(error)) logger.error({ err: error }, "the last measurements could not be written");
    });
  }

  /** Measures everything once, after the round that is under way. */
  once(): Promise<void> {
    this.current = this.current.catch(() => {}).then(() => this.measureAll());
    return this.current;
  }

  private async measureAll(): Promise<void> {
    const { sandboxes, clock, meters, teams } = this.parts;
    const running = sandboxes.ofUsers().filter((sandbox) => sandbox.state === "running");
    meters.keepOnly((id) => sandboxes.find(id) !== undefined);
    const changed = await this.changedOf(running);
    await atOnce(changed, AT_ONCE, (sandbox) => meters.measure(sandbox, this.parts.liveness.isUnresponsive(sandbox)));
    teams.round(
      running.map(({ record }) => record.teamId),
      clock.now(),
    );
  }

  private async round(signal: AbortSignal): Promise<void> {
    await this.once();
    await this.parts.writer.afterRound(signal);
  }

  /** Those that are to be measured. The others are noted as unchanged. */
  private async changedOf(running: readonly Sandbox[]): Promise<Sandbox[]> {
    const { clock, meters, liveness, use } = this.parts;
    const times = await within(timesOf(running), TIMES_MS, tooLong, clock);
    const now = clock.now();
    const changed: Sandbox[] = [];
    for (const sandbox of running) {
      const time = times.get(sandbox.id);
      if (time !== undefined) use.measured(sandbox, time);
      // It has just ended, or its measurement hangs.
      if (time === undefined || meters.isMeasuring(sandbox)) continue;
      const meter = meters.find(sandbox.id);
      const wasUnresponsive = ((meter?.tail.last?.[2] ?? 0) & UNRESPONSIVE) !== 0;
      if (meter && !meter.isDue && meter.cpuCounter === time && wasUnresponsive === liveness.isUnresponsive(sandbox)) meter.unchanged(now);
      else changed.push(sandbox);
    }
    return changed;
  }
}

/** The CPU time of each sandbox that is alive, in microseconds: one call for each driver. */
async function timesOf(running: readonly Sandbox[]): Promise<ReadonlyMap<SandboxId, number>> {
  const times = new Map<SandboxId, number>();
  for (const [driver, some] of Map.groupBy(running, (sandbox) => sandbox.driver)) {
    for (const [id, time] of await driver.cpuTimes(some.map(({ handle }) => handle))) times.set(id, time);
  }
  return times;
}

const tooLong = () => new AppError("deadline_exceeded", "Reading the CPU times of the sandboxes takes too long");
