import type { SandboxId } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { MachineMemory } from "./machine-memory.ts";

/** A running sandbox that may take memory of the kernel. */
export interface Suspect {
  readonly id: SandboxId;
  /** Time that its processes have spent in the kernel. */
  systemUsec(): number;
  /**
   * Freezes it, and asks `isCause` then: true ends the sandbox with a reason, false lets it run on. Undefined, and nothing is asked, when it does
   * not run or stands still already.
   */
  onTrial(isCause: () => Promise<boolean>): Promise<boolean | undefined>;
}

export interface KernelGrowthParts {
  readonly memory: () => MachineMemory;
  /** Kernel memory on the accounts of all sandboxes. */
  readonly countedBytes: (memory: MachineMemory) => number;
  /** Free memory that `memory` does not show as available. */
  readonly sparedBytes: () => number;
  /** What sandboxes leave to the machine when all accounts are full. */
  readonly reserveBytes: number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly logger: Pick<Logger, "error">;
}

/** With less than this share of the reserve left, sandboxes are ended: full accounts leave more. */
const DANGER = 1 / 2;
/** Kernel memory on no account, since the guard began, below which sandboxes are not the cause: a share of the reserve. */
const LEAST = 1 / 4;
/** Growth between two looks that counts as growth. */
const GROWTH_BYTES = 8 << 20;
/** A sandbox is the cause when more than this share of the growth stops while it is frozen. */
const STOPPED = 3 / 4;
/** The time between two looks: growth is compared with that of the look before. */
const TRIAL_MS = 500;
/** How long a trial waits for what is under way with the sandbox. */
const TURN_MS = 2_000;
/** Looks after an end that are left to the kernel to free what the sandbox had. */
const REST_LOOKS = 4;

interface Sample {
  readonly uncountedBytes: number;
  readonly systemUsec: ReadonlyMap<SandboxId, number>;
}

/**
 * Finds the sandbox that takes kernel memory on no account by a way that nobody has thought of. Nothing says whose such memory is, so it is found by
 * what happens: between two looks, growth is put down to the sandboxes by their time in the kernel. When little of the machine's memory is left, the
 * sandbox with most is frozen, and ended if the growth stops with it; if it goes on, the next one is tried. When nothing grows any more, or all were
 * tried, the most likely one is ended.
 */
export class KernelGrowth {
  private readonly parts: KernelGrowthParts;
  private leastUncounted: number;
  private before: Sample | undefined;
  private readonly taken = new Map<SandboxId, number>();
  /** Of each sandbox that was on trial, the share of the growth that stopped with it. */
  private readonly stopped = new Map<SandboxId, number>();
  private trial: Promise<void> | undefined;
  private rest = 0;

  constructor(parts: KernelGrowthParts) {
    this.parts = parts;
    this.leastUncounted = this.uncounted(parts.memory());
  }

  private uncounted(memory = this.parts.memory(), sparedBytes = this.parts.sparedBytes()): number {
    return memory.kernelBytes - this.parts.countedBytes(memory) - sparedBytes;
  }

  /** The machine's memory does not shrink: what was seen before says nothing about the next time. */
  calm(): void {
    if (this.trial) return;
    this.before = undefined;
    this.taken.clear();
    this.stopped.clear();
  }

  /** One look while the machine's memory shrinks, or is low. */
  look(memory: MachineMemory, running: readonly Suspect[]): void {
    if (this.trial) return;
    const sparedBytes = this.parts.sparedBytes();
    const uncountedBytes = this.uncounted(memory, sparedBytes);
    this.leastUncounted = Math.min(this.leastUncounted, uncountedBytes);
    const systemUsec = new Map(running.map((suspect) => [suspect.id, suspect.systemUsec()]));
    const { before } = this;
    this.before = { uncountedBytes, systemUsec };
    // Nothing is known of the time before the first look, or of that of a trial.
    if (!before) return;
    const grown = uncountedBytes - before.uncountedBytes;
    if (grown >= GROWTH_BYTES) this.putDown(grown, before.systemUsec, systemUsec);
    const { reserveBytes } = this.parts;
    if (this.rest > 0) return void this.rest--;
    if (memory.availableBytes + sparedBytes >= reserveBytes * DANGER) return;
    if (uncountedBytes - this.leastUncounted < reserveBytes * LEAST) return;
    this.choose(running, grown);
  }

  /** Resolves when no sandbox is on trial. */
  async settled(): Promise<void> {
    await this.trial;
  }

  private putDown(grown: number, before: ReadonlyMap<SandboxId, number>, now: ReadonlyMap<SandboxId, number>): void {
    // A sandbox that was not there before has spent all of its time since then.
    const spent = [...now].map(([id, usec]) => [id, Math.max(0, usec - (before.get(id) ?? 0))] as const);
    const total = spent.reduce((sum, [, usec]) => sum + usec, 0);
    for (const [id, usec] of spent) if (total > 0) this.taken.set(id, (this.taken.get(id) ?? 0) + (grown * usec) / total);
  }

  private choose(running: readonly Suspect[], grown: number): void {
    const likely = ({ id }: Suspect) => (this.taken.get(id) ?? 0) * (this.stopped.get(id) ?? 1);
    const sorted = running.filter((suspect) => likely(suspect) > 0).sort((a, b) => likely(b) - likely(a));
    const next = grown >= GROWTH_BYTES ? sorted.find(({ id }) => !this.stopped.has(id)) : undefined;
    const suspect = next ?? sorted[0];
    // None is likely any more: all begin anew.
    if (!suspect) return void this.stopped.clear();
    this.trial = this.tryOne(suspect, next ? grown : undefined).finally(() => {
      this.trial = undefined;
      this.before = undefined;
    });
  }

  /** `grown`: by how much memory grew in the last look; undefined: nothing can be proved any more. */
  private async tryOne({ id, onTrial }: Suspect, grown: number | undefined): Promise<void> {
    const { logger, sleep, memory } = this.parts;
    try {
      let hasBegun = false;
      let isLate = false;
      const verdict = onTrial(async () => {
        if (isLate) return false;
        hasBegun = true;
        if (grown === undefined) return true;
        const before = this.uncounted();
        await sleep(TRIAL_MS);
        const stopped = 1 - (this.uncounted() - before) / grown;
        this.stopped.set(id, Math.max(0, stopped));
        return stopped > STOPPED;
      });
      // A pause of it may be under way, in which it stands still; others are not kept waiting.
      const tooLong = sleep(TURN_MS).then(() => {
        isLate = !hasBegun;
        return isLate ? undefined : verdict;
      });
      const isCause = await Promise.race([verdict, tooLong]);
      if (isCause === undefined) this.stopped.set(id, 0);
      if (!isCause) return;
      const { availableBytes } = memory();
      const facts = { sandboxId: id, takenBytes: Math.round(this.taken.get(id) ?? 0), availableBytes, isProved: grown !== undefined };
      logger.error(facts, "ended a sandbox: the machine's memory went to the kernel, on no account, while it ran");
      this.taken.clear();
      this.stopped.clear();
      this.rest = REST_LOOKS;
    } catch (error) {
      this.stopped.set(id, 0);
      logger.error({ sandboxId: id, err: error }, "could not try whether a sandbox takes the machine's memory");
    }
  }
}
