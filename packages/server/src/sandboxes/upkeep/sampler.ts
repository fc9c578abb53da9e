import { AppError, atOnce, type Clock, Rounds, within } from "@boxyard/core";
import type { ResourceStats } from "@boxyard/driver";
import type { SandboxMetric } from "@boxyard/spec/platform";
import type { LivingSandboxes } from "../engine/living.ts";
import type { Sandbox } from "../engine/sandbox.ts";
import type { Liveness } from "./liveness.ts";

const EVERY_MS = 5000;
/** An hour of samples. */
const MAX_SAMPLES = 720;
const AT_ONCE = 4;
/** How long one measurement may take. */
const STATS_MS = 4000;
/** A round never fails: a sandbox that cannot be measured is left out. */
const NEVER = () => {};

interface History {
  samples: SandboxMetric[];
  /** Counter and time of the last sample, from which the next CPU percentage is computed. */
  last: { cpuUsageUsec: number; at: number };
}

/**
 * Measures every running sandbox of users every five seconds, from outside: the agent is not asked. Each measurement also makes the driver refresh
 * the figures of the disk that it gives the agent.
 */
export class Sampler {
  private readonly sandboxes: LivingSandboxes;
  private readonly clock: Clock;
  private readonly liveness: Pick<Liveness, "isUnresponsive">;
  private readonly histories = new Map<string, History>();
  /** Sandboxes whose measurement has not ended, also if nobody waits for it any more. */
  private readonly measuring = new WeakSet<Sandbox>();
  private readonly rounds: Rounds;

  constructor(sandboxes: LivingSandboxes, clock: Clock, liveness: Pick<Liveness, "isUnresponsive">) {
    this.sandboxes = sandboxes;
    this.clock = clock;
    this.liveness = liveness;
    this.rounds = new Rounds(() => this.once(), { clock, everyMs: EVERY_MS, isFirstAtOnce: true, onError: NEVER });
  }

  start(): void {
    this.rounds.start();
  }

  stop(): Promise<void> {
    return this.rounds.stop();
  }

  /** Samples of one sandbox, oldest first; bounds are unix seconds, both included. */
  history(id: string, start = 0, end = Number.POSITIVE_INFINITY): SandboxMetric[] {
    return (this.histories.get(id)?.samples ?? []).filter((s) => s.timestampUnix >= start && s.timestampUnix <= end);
  }

  /** The last sample of a sandbox; undefined before its first. */
  newest(id: string): SandboxMetric | undefined {
    return this.histories.get(id)?.samples.at(-1);
  }

  /** Samples everything once. */
  async once(): Promise<void> {
    const running = this.sandboxes.ofUsers().filter((sandbox) => sandbox.state === "running");
    const ids = new Set(running.map((sandbox) => sandbox.id as string));
    for (const id of this.histories.keys()) if (!ids.has(id)) this.histories.delete(id);
    // A measurement that hangs is not begun a second time, so that such ones do not add up.
    const queue = running.filter((sandbox) => !this.measuring.has(sandbox));
    await atOnce(queue, AT_ONCE, (sandbox) => this.sample(sandbox));
  }

  /** Undefined for a sandbox that cannot be measured now: it ends meanwhile, or the driver takes too long. */
  private async measure(sandbox: Sandbox): Promise<ResourceStats | undefined> {
    this.measuring.add(sandbox);
    const measured = sandbox.driver.stats(sandbox.handle).finally(() => this.measuring.delete(sandbox));
    return within(measured, STATS_MS, tooLong, this.clock).catch(() => undefined);
  }

  private async sample(sandbox: Sandbox): Promise<void> {
    const { id, facts } = sandbox.record;
    const stats = await this.measure(sandbox);
    if (!stats || sandbox.state !== "running") return;
    const [now, at] = [this.clock.now(), this.clock.monotonic()];
    // The first sample covers the time since the sandbox began.
    const age = Math.max(0, now - (sandbox.record.startedAt ?? sandbox.record.createdAt));
    const history = this.histories.get(id) ?? { samples: [], last: { cpuUsageUsec: 0, at: at - age } };
    const { last } = history;
    const elapsedUsec = (at - last.at) * 1000;
    const used = elapsedUsec > 0 ? (stats.cpuUsageUsec - last.cpuUsageUsec) / (elapsedUsec * facts.resources.cpuCount) : 0;
    history.last = { cpuUsageUsec: stats.cpuUsageUsec, at };
    history.samples.push({
      timestamp: new Date(now).toISOString(),
      timestampUnix: Math.floor(now / 1000),
      cpuCount: facts.resources.cpuCount,
      cpuUsedPct: percent(used),
      memUsed: stats.memoryUsedBytes,
      memTotal: stats.memoryLimitBytes,
      memCache: stats.memoryCacheBytes,
      diskUsed: stats.diskUsedBytes,
      diskTotal: stats.diskLimitBytes,
      ...(this.liveness.isUnresponsive(sandbox) && { health: "unresponsive" as const }),
    });
    if (history.samples.length > MAX_SAMPLES) history.samples.shift();
    this.histories.set(id, history);
  }
}

const tooLong = () => new AppError("deadline_exceeded", "Measuring the sandbox takes too long");

/** A percentage with two decimals, rounded up: a sandbox that used any time never has 0. */
const percent = (share: number) => Math.ceil(Math.max(0, share) * 10_000) / 100;
