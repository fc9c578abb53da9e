import type { AgentClient } from "@boxyard/agent-client";
import { type Clock, within } from "@boxyard/core";
import type { Incarnation, Sandbox } from "../engine/sandbox.ts";
import type { Tokens } from "../tokens.ts";

/** How long the driver and the agent may take for their answers at an idle end. */
const ASK_MS = 2000;
/** CPU time over a shorter time says nothing: the agent's own answers would count. */
const LEAST_SPAN_MS = 1000;

export interface UseWatchParts {
  readonly clock: Clock;
  readonly agent: Pick<AgentClient, "outputAgeMs">;
  readonly tokens: Pick<Tokens, "access">;
  /** Percent of one processor above which a sandbox counts as used. */
  readonly cpuPercent: number;
  /** Notes a use of the sandbox now. */
  readonly touch: (sandbox: Sandbox) => void;
}

interface Seen {
  readonly cpuUsec: number;
  /** Wall time. */
  readonly at: number;
}

/**
 * Finds use of sandboxes that have an idle time which no request shows: processors that work, which each round of measurements notes, and output of commands
 * that nobody reads, for which the agent is asked only when the idle time is over.
 */
export class UseWatch {
  private readonly parts: UseWatchParts;
  private readonly seen = new WeakMap<Incarnation, Seen>();

  constructor(parts: UseWatchParts) {
    this.parts = parts;
  }

  /** Takes the CPU time of a running sandbox, in microseconds. */
  measured(sandbox: Sandbox, cpuUsec: number): void {
    if (sandbox.record.settings.idleMs === undefined) return;
    if (this.isAbove(sandbox, cpuUsec)) this.parts.touch(sandbox);
  }

  /** Looks once more, at the end of an idle time. What cannot be told within two seconds counts as no use. */
  async isBusy(sandbox: Sandbox): Promise<boolean> {
    const outputAgeMs = await this.outputAgeOf(sandbox);
    if (outputAgeMs !== undefined && outputAgeMs < (sandbox.record.settings.idleMs ?? 0)) return true;
    await this.untilMeasurable(sandbox);
    const cpuUsec = await this.cpuOf(sandbox);
    return cpuUsec !== undefined && this.isAbove(sandbox, cpuUsec);
  }

  /** An idle time can be shorter than a round of measurements: then there is nothing yet to compare with. */
  private async untilMeasurable(sandbox: Sandbox): Promise<void> {
    const { incarnation } = sandbox;
    if (!incarnation) return;
    if (!this.seen.has(incarnation)) {
      const cpuUsec = await this.cpuOf(sandbox);
      if (cpuUsec !== undefined) this.isAbove(sandbox, cpuUsec);
    }
    const { clock } = this.parts;
    const left = (this.seen.get(incarnation)?.at ?? 0) + LEAST_SPAN_MS - clock.now();
    if (left > 0) await clock.sleep(Math.min(left, LEAST_SPAN_MS), incarnation.signal).catch(() => {});
  }

  private isAbove({ incarnation }: Sandbox, cpuUsec: number): boolean {
    if (!incarnation) return false;
    const now = this.parts.clock.now();
    const last = this.seen.get(incarnation);
    const span = last ? now - last.at : 0;
    if (last && span < LEAST_SPAN_MS) return false;
    this.seen.set(incarnation, { cpuUsec, at: now });
    return last !== undefined && (cpuUsec - last.cpuUsec) / (span * 10) > this.parts.cpuPercent;
  }

  private async cpuOf({ driver, handle, id }: Sandbox): Promise<number | undefined> {
    const times = within(driver.cpuTimes([handle]), ASK_MS, tooLong, this.parts.clock);
    return times.then((found) => found.get(id)).catch(() => undefined);
  }

  private async outputAgeOf({ id, incarnation }: Sandbox): Promise<number | undefined> {
    if (!incarnation?.address) return undefined;
    return this.parts.agent.outputAgeMs(incarnation.address, this.parts.tokens.access(id), ASK_MS, incarnation.signal);
  }
}

const tooLong = () => new Error("reading the CPU time takes too long");
