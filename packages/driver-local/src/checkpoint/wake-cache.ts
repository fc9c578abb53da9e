import type { Clock, SandboxId } from "@boxyard/core";

/** What the wake of a sandbox must find as it was left. */
export interface Standing {
  readonly incarnation: number;
  /** Memory that its processes hold. */
  readonly bytes: number;
  readonly processes: readonly StandingProcess[];
}

export interface StandingProcess {
  /** As the machine numbers it. */
  readonly pid: number;
  /** What it had before it was made the kernel's first choice when memory runs out. */
  readonly oomScoreAdj: number;
}

export interface WakeCacheLimits {
  /** Memory of all of them together; 0: no sandbox is kept. */
  readonly budgetBytes: number;
  /** How long one is kept, milliseconds. */
  readonly lingerMs: number;
}

export interface WakeCacheParts {
  readonly limits: WakeCacheLimits;
  readonly clock: Clock;
  /** What sandboxes may still take, and the least that is to be free for them. */
  readonly memory: () => { readonly freeBytes: number; readonly leastFreeBytes: number };
}

/**
 * Paused sandboxes whose processes are still in memory, frozen, so that their wake is a thaw. A cache: their generations on the disk are the truth,
 * and each may be dropped at any time. The map is all that makes them one: frozen processes that it does not name are remainders.
 */
export class WakeCache {
  private readonly parts: WakeCacheParts;
  /** Oldest first. */
  private readonly entries = new Map<SandboxId, { readonly standing: Standing; readonly until: number }>();
  /** Drops that are under way. */
  private readonly drops = new Set<Promise<void>>();
  private drop: (id: SandboxId) => Promise<void> = async () => {};
  private isClosed = false;

  constructor(parts: WakeCacheParts) {
    this.parts = parts;
  }

  /** `drop` ends the processes of a sandbox that is no longer in here, when it is the sandbox's turn. */
  open(drop: (id: SandboxId) => Promise<void>): void {
    this.drop = drop;
  }

  get bytes(): number {
    return [...this.entries.values()].reduce((sum, { standing }) => sum + standing.bytes, 0);
  }

  has(id: SandboxId): boolean {
    return this.entries.has(id);
  }

  /** Whether a sandbox of this size may be kept at all now. */
  takes(bytes: number): boolean {
    const { limits, memory } = this.parts;
    if (this.isClosed || limits.lingerMs === 0 || bytes > limits.budgetBytes) return false;
    const { freeBytes, leastFreeBytes } = memory();
    return freeBytes >= leastFreeBytes;
  }

  /** Older ones make room. */
  add(id: SandboxId, standing: Standing): void {
    const { limits, clock } = this.parts;
    this.entries.delete(id);
    this.dropOldest(() => this.bytes + standing.bytes > limits.budgetBytes);
    this.entries.set(id, { standing, until: clock.monotonic() + limits.lingerMs });
  }

  /** From here on its processes are the caller's. Undefined when it is not in here. */
  take(id: SandboxId): Standing | undefined {
    const entry = this.entries.get(id);
    this.entries.delete(id);
    return entry?.standing;
  }

  /** To be called now and then: drops what has been here too long, and more when memory runs short. */
  look(): void {
    if (this.entries.size === 0) return;
    const now = this.parts.clock.monotonic();
    this.dropOldest((oldest) => oldest.until <= now);
    const { freeBytes, leastFreeBytes } = this.parts.memory();
    let givenBack = 0;
    this.dropOldest(({ standing }) => {
      const isShort = freeBytes + givenBack < leastFreeBytes;
      givenBack += standing.bytes;
      return isShort;
    });
  }

  /** Drops as much as is wanted, if there is as much; true when something was given back, which it is when this resolves. */
  async reclaim(wanted: { readonly memoryBytes: number; readonly processes: number }): Promise<boolean> {
    let { memoryBytes, processes } = wanted;
    const drops = this.dropOldest(({ standing }) => {
      const isShort = memoryBytes > 0 || processes > 0;
      memoryBytes -= standing.bytes;
      processes -= standing.processes.length;
      return isShort;
    });
    await Promise.all(drops);
    return drops.length > 0;
  }

  /** Drops everything, and takes nothing any more. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.dropOldest(() => true);
    await Promise.all(this.drops);
  }

  private dropOldest(isToGo: (oldest: { readonly standing: Standing; readonly until: number }) => boolean): Promise<void>[] {
    const started: Promise<void>[] = [];
    for (const [id, entry] of this.entries) {
      if (!isToGo(entry)) break;
      this.entries.delete(id);
      const drop = this.drop(id).finally(() => this.drops.delete(drop));
      this.drops.add(drop);
      started.push(drop);
    }
    return started;
  }
}
