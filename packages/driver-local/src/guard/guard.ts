import type { SandboxId } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { mostLocking } from "./file-locks.ts";
import { KernelGrowth, type KernelGrowthParts, type Suspect } from "./kernel-growth.ts";
import { memoryNow } from "./machine-memory.ts";
import { areManyOrphans, mostOrphaned } from "./orphans.ts";
import { uncountedBytes } from "./socket-memory.ts";

/** What the guard needs of a running sandbox. */
export interface Guarded extends Suspect {
  readonly pid: number;
  readonly memoryBytes: number;
  /** Ends all its processes. */
  kill(): void;
}

export interface GuardParts {
  readonly running: () => readonly Guarded[];
  readonly logger: Pick<Logger, "error">;
  /** What is known of the machine's kernel memory; undefined: only the kinds are looked at that have a count of their own. */
  readonly kernel?: Pick<KernelGrowthParts, "countedBytes" | "sparedBytes" | "reserveBytes" | "sleep">;
  /** The machine's memory; tests replace it. */
  readonly memory?: typeof memoryNow;
  /** Called first at each check; frees memory that is not needed, so that no sandbox is ended for it. */
  readonly beforeLook?: () => void;
}

const LOOK_MS = 500;
/** How much of its memory limit a sandbox may hold in sockets that no cgroup counts, and how much every sandbox may. */
const SHARE = 1 / 8;
const LEAST_BYTES = 32 << 20;
/** Sandboxes are checked when the machine's free memory shrank by this much since the last look, or when less than this share is left. */
const DROP_BYTES = 256 << 20;
const LOW = 1 / 8;

/**
 * Ends a sandbox that takes the machine's memory through sockets or locks on files. The kernel has no limit for these (`uncountedBytes`,
 * `mostLocking`), so the guard enforces one: twice a second it reads the machine's free memory, which is one small file; only when that shrinks, it
 * reads the sandboxes' sockets and locks. Kernel memory of other kinds is found by the machine's figures alone (`KernelGrowth`).
 */
export class MemoryGuard {
  private readonly parts: GuardParts;
  private readonly timer: ReturnType<typeof setInterval>;
  private readonly growth: KernelGrowth | undefined;
  private availableBefore: number;

  constructor(parts: GuardParts) {
    this.parts = parts;
    const { kernel, logger } = parts;
    this.growth = kernel && new KernelGrowth({ ...kernel, logger, memory: () => this.memory() });
    this.availableBefore = this.memory().availableBytes;
    this.timer = setInterval(() => this.contained(() => this.look()), LOOK_MS);
    this.timer.unref();
  }

  private memory(): ReturnType<typeof memoryNow> {
    return (this.parts.memory ?? memoryNow)();
  }

  /** Resolves when no sandbox is on trial; for tests. */
  async settled(): Promise<void> {
    await this.growth?.settled();
  }

  /** One look; called by the timer, and by tests. */
  look(): void {
    this.contained(() => this.parts.beforeLook?.());
    this.contained(() => this.judgeOrphans());
    const memory = this.memory();
    const { availableBytes, totalBytes } = memory;
    const isShrinking = this.availableBefore - availableBytes >= DROP_BYTES || availableBytes < totalBytes * LOW;
    this.availableBefore = availableBytes;
    if (!isShrinking) {
      this.growth?.calm();
      return;
    }
    const running = this.parts.running();
    for (const sandbox of running) this.contained(() => this.judge(sandbox), sandbox.id);
    this.contained(() => this.judgeLocks(running));
    this.contained(() => this.growth?.look(memory, running));
  }

  /** Ends one sandbox at most. The kernel's counter is one small file; connections of sandboxes are read only when it is high. */
  private judgeOrphans(): void {
    if (!areManyOrphans()) return;
    const running = this.parts.running();
    this.end(
      running,
      mostOrphaned(running.map(({ pid }) => pid)),
      "connections that it closed filled a table that the whole machine shares",
    );
  }

  /** Ends one sandbox at most: most of the locks end with it, or the next look finds the next sandbox. */
  private judgeLocks(running: readonly Guarded[]): void {
    const pid = mostLocking(running.map((sandbox) => sandbox.pid));
    this.end(running, pid, "its locks on files took memory that no cgroup counts");
  }

  private end(running: readonly Guarded[], pid: number | undefined, why: string): void {
    const found = running.find((sandbox) => sandbox.pid === pid);
    if (!found) return;
    this.parts.logger.error({ sandboxId: found.id }, `ended a sandbox: ${why}`);
    found.kill();
  }

  /** A failure with one sandbox must not keep the others from being checked. */
  private contained(work: () => void, sandboxId?: SandboxId): void {
    try {
      work();
    } catch (error) {
      this.parts.logger.error({ sandboxId, err: error }, "could not check the memory that sockets and file locks take");
    }
  }

  private judge({ id, pid, memoryBytes, kill }: Guarded): void {
    const allowedBytes = Math.max(LEAST_BYTES, Math.floor(memoryBytes * SHARE));
    const takenBytes = uncountedBytes(pid);
    if (takenBytes <= allowedBytes) return;
    const taken = Number.isFinite(takenBytes) ? { takenBytes } : { sockets: "too many to read" };
    this.parts.logger.error({ sandboxId: id, ...taken, allowedBytes }, "ended a sandbox: its sockets took memory that no cgroup counts");
    kill();
  }

  close(): void {
    clearInterval(this.timer);
  }
}
