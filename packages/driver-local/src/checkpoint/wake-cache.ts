import type { Clock, SandboxId } from "@boxyard/core";

/** The processes of a paused sandbox in memory, as the pause left them. */
export interface FrozenSandbox {
  readonly incarnation: number;
  /** Memory that its processes hold. */
  readonly bytes: number;
  readonly processes: readonly FrozenProcess[];
}

export interface FrozenProcess {
  /** In the machine's process namespace. */
  readonly pid: number;
  /** Its `oom_score_adj` before the pause raised it. */
  readonly oomScoreAdj: number;
}

export interface WakeCacheLimits {
  /** Most memory of all kept sandboxes together; 0: no sandbox is kept. */
  readonly budgetBytes: number;
  /** How long a sandbox is kept, in milliseconds; 0: no sandbox is kept. */
  readonly lingerMs: number;
}

export interface WakeCacheParts {
  readonly limits: WakeCacheLimits;
  readonly clock: Clock;
  /** Memory that sandboxes may still take, and how much of it must stay free. */
  readonly memory: () => { readonly freeBytes: number; readonly leastFreeBytes: number };
}

/**
 * Paused sandboxes whose processes are still in memory, frozen, so that their wake is a thaw. It is a cache: each sandbox may be dropped at any time,
 * because its generation is on the disk. Frozen processes of paused sandboxes that are not in the map are remainders, which `Remainders` ends.
 */
export class WakeCache {
  private readonly parts: WakeCacheParts;
  /** Oldest first. */
  private readonly entries = new Map<SandboxId, { readonly frozen: FrozenSandbox; readonly until: number }>();
  /** Drops that are under way. */
  private readonly drops = new Set<Promise<void>>();
  private drop: (id: SandboxId) => Promise<void> = async () => {};
  private isClosed = false;

  constructor(parts: WakeCacheParts) {
    this.parts = parts;
  }

  /** Sets `drop`, which ends the processes of a sandbox that was removed from the cache, after other changes of the sandbox. */
  open(drop: (id: SandboxId) => Promise<void>): void {
    this.drop = drop;
  }

  get bytes(): number {
    return [...this.entries.values()].reduce((sum, { frozen }) => sum + frozen.bytes, 0);
  }

  has(id: SandboxId): boolean {
    return this.entries.has(id);
  }

  /** Whether a sandbox of this size may be kept now. */
  takes(bytes: number): boolean {
    const { limits, memory } = this.parts;
    if (this.isClosed || limits.lingerMs === 0 || bytes > limits.budgetBytes) return false;
    const { freeBytes, leastFreeBytes } = memory();
    return freeBytes >= leastFreeBytes;
  }

  /** Adds a sandbox; drops older ones when the budget needs it. */
  add(id: SandboxId, frozen: FrozenSandbox): void {
    const { limits, clock } = this.parts;
    this.entries.delete(id);
    this.dropOldest(() => this.bytes + frozen.bytes > limits.budgetBytes);
    this.entries.set(id, { frozen, until: clock.monotonic() + limits.lingerMs });
  }

  /** Removes a sandbox without ending its processes, which the caller then owns. Undefined when it is not in the cache. */
  take(id: SandboxId): FrozenSandbox | undefined {
    const entry = this.entries.get(id);
    this.entries.delete(id);
    return entry?.frozen;
  }

  /** To be called regularly: drops sandboxes that were kept too long, and more when memory runs short. */
  look(): void {
    if (this.entries.size === 0) return;
    const now = this.parts.clock.monotonic();
    this.dropOldest((oldest) => oldest.until <= now);
    const { freeBytes, leastFreeBytes } = this.parts.memory();
    let freed = 0;
    this.dropOldest(({ frozen }) => {
      const isShort = freeBytes + freed < leastFreeBytes;
      freed += frozen.bytes;
      return isShort;
    });
  }

  /** Drops the oldest sandboxes until as much as wanted is free, or none is left. Resolves when they have ended: true when any was dropped. */
  async reclaim(wanted: { readonly memoryBytes: number; readonly processes: number }): Promise<boolean> {
    let { memoryBytes, processes } = wanted;
    const drops = this.dropOldest(({ frozen }) => {
      const isShort = memoryBytes > 0 || processes > 0;
      memoryBytes -= frozen.bytes;
      processes -= frozen.processes.length;
      return isShort;
    });
    await Promise.all(drops);
    return drops.length > 0;
  }

  /** Drops everything, and accepts nothing more. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.dropOldest(() => true);
    await Promise.all(this.drops);
  }

  /** Drops sandboxes, the oldest first, while `shouldDrop` is true. */
  private dropOldest(shouldDrop: (oldest: { readonly frozen: FrozenSandbox; readonly until: number }) => boolean): Promise<void>[] {
    const started: Promise<void>[] = [];
    for (const [id, entry] of this.entries) {
      if (!shouldDrop(entry)) break;
      this.entries.delete(id);
      const drop = this.drop(id).finally(() => this.drops.delete(drop));
      this.drops.add(drop);
      started.push(drop);
    }
    return started;
  }
}
