import type { SandboxId } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { mostLocking } from "./file-locks.ts";
import { areManyOrphans, mostOrphaned } from "./orphans.ts";
import { memoryNow, uncountedBytes } from "./socket-memory.ts";

/** A sandbox that runs, as the guard sees it. */
export interface Guarded {
  readonly id: SandboxId;
  readonly pid: number;
  readonly memoryBytes: number;
  /** Ends every process of it. */
  kill(): void;
}

export interface GuardParts {
  readonly running: () => readonly Guarded[];
  readonly logger: Pick<Logger, "error">;
  /** Memory of the machine; another one in tests. */
  readonly memory?: typeof memoryNow;
  /** Gives back what nobody needs, before anybody is judged. */
  readonly beforeLook?: () => void;
}

const LOOK_MS = 500;
/** Of a sandbox's memory limit, what may wait in sockets that no account holds; and what every sandbox may. */
const SHARE = 1 / 8;
const LEAST_BYTES = 32 << 20;
/** It looks into the sandboxes when so much of the machine's memory went since its last look, or when this share alone is left. */
const DROP_BYTES = 256 << 20;
const LOW = 1 / 8;

/**
 * Ends a sandbox that takes the machine's memory through sockets or locks on files. The kernel gives no bound for these (`uncountedBytes`, `mostLocking`), so it is done
 * from outside: twice a second the machine's memory is looked at, which is one small file, and only when it goes, the sandboxes' sockets.
 */
export class MemoryGuard {
  private readonly parts: GuardParts;
  private readonly timer: ReturnType<typeof setInterval>;
  private availableBefore: number;

  constructor(parts: GuardParts) {
    this.parts = parts;
    this.availableBefore = this.memory().availableBytes;
    this.timer = setInterval(() => this.contained(() => this.look()), LOOK_MS);
    this.timer.unref();
  }

  private memory(): ReturnType<typeof memoryNow> {
    return (this.parts.memory ?? memoryNow)();
  }

  /** One look; the timer's, or a test's. */
  look(): void {
    this.contained(() => this.parts.beforeLook?.());
    this.contained(() => this.judgeOrphans());
    const { availableBytes, totalBytes } = this.memory();
    const isGoing = this.availableBefore - availableBytes >= DROP_BYTES || availableBytes < totalBytes * LOW;
    this.availableBefore = availableBytes;
    if (!isGoing) return;
    const running = this.parts.running();
    for (const sandbox of running) this.contained(() => this.judge(sandbox), sandbox.id);
    this.contained(() => this.judgeLocks(running));
  }

  /** One a look. What the kernel counts is one small file; nobody's connections are looked at before there are very many. */
  private judgeOrphans(): void {
    if (!areManyOrphans()) return;
    const running = this.parts.running();
    this.end(
      running,
      mostOrphaned(running.map(({ pid }) => pid)),
      "connections that it closed took a table that all of the machine shares",
    );
  }

  /** One a look: with it most of the locks have gone, or the next look finds the next. */
  private judgeLocks(running: readonly Guarded[]): void {
    const pid = mostLocking(running.map((sandbox) => sandbox.pid));
    this.end(running, pid, "its locks on files took memory that no account holds");
  }

  private end(running: readonly Guarded[], pid: number | undefined, why: string): void {
    const found = running.find((sandbox) => sandbox.pid === pid);
    if (!found) return;
    this.parts.logger.error({ sandboxId: found.id }, `ended a sandbox: ${why}`);
    found.kill();
  }

  /** What fails with one sandbox must not save the others. */
  private contained(work: () => void, sandboxId?: SandboxId): void {
    try {
      work();
    } catch (error) {
      this.parts.logger.error({ sandboxId, err: error }, "could not look at the memory that sockets take");
    }
  }

  private judge({ id, pid, memoryBytes, kill }: Guarded): void {
    const allowedBytes = Math.max(LEAST_BYTES, Math.floor(memoryBytes * SHARE));
    const takenBytes = uncountedBytes(pid);
    if (takenBytes <= allowedBytes) return;
    const taken = Number.isFinite(takenBytes) ? { takenBytes } : { sockets: "too many to be looked at" };
    this.parts.logger.error({ sandboxId: id, ...taken, allowedBytes }, "ended a sandbox: its sockets took memory that no account holds");
    kill();
  }

  close(): void {
    clearInterval(this.timer);
  }
}
