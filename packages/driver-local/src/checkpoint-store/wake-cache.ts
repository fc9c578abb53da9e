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
  /** How many images are tried at the same time before their processes end; 0: none is tried. */
  readonly trialsAtOnce: number;
}

/** What a trial has found: the image starts, it can't be started, or the trial could not tell. */
export type TrialResult = "starts" | "fails" | "unknown";

/** What the cache does with a sandbox. */
export interface WakeCacheActs {
  /** Ends the processes of a sandbox that was removed from the cache, after other changes of the sandbox. */
  drop(id: SandboxId): Promise<void>;
  /** Tries to restore the sandbox's image beside its frozen processes. Never rejects. */
  tryImage(id: SandboxId, frozen: FrozenSandbox, signal: AbortSignal): Promise<TrialResult>;
}

interface Entry {
  readonly frozen: FrozenSandbox;
  readonly until: number;
  /** Monotonic time of its trial, if it is still in the cache then. */
  readonly tryAt: number;
  trial: "none" | "running" | TrialResult;
}

export interface WakeCacheParts {
  readonly limits: WakeCacheLimits;
  readonly clock: Clock;
  /** Memory that sandboxes may still take, and how much of it must stay free. */
  readonly memory: () => { readonly freeBytes: number; readonly leastFreeBytes: number };
}

/** The part of its time in the cache after which an image is tried: a quick wake needs no trial. */
const TRY_AFTER = 1 / 2;

/**
 * Paused sandboxes whose processes are still in memory, frozen, so that their wake is a thaw. It is a cache: each sandbox may be dropped at any time,
 * because its generation is on the disk. The exception is a sandbox whose image could not be restored in a trial: its memory is here alone, so it stays
 * until it is resumed or removed, or this server ends, and counts in the budget. Frozen processes of paused sandboxes that are not in the map are frozen orphans, which `FrozenOrphans` ends.
 */
export class WakeCache {
  private readonly parts: WakeCacheParts;
  /** Oldest first. */
  private readonly entries = new Map<SandboxId, Entry>();
  /** Drops and trials that are under way. */
  private readonly drops = new Set<Promise<void>>();
  private readonly trials = new Set<Promise<void>>();
  private readonly closing = new AbortController();
  private acts: WakeCacheActs = { drop: async () => {}, tryImage: async () => "unknown" };
  private isClosed = false;

  constructor(parts: WakeCacheParts) {
    this.parts = parts;
  }

  open(acts: WakeCacheActs): void {
    this.acts = acts;
  }

  get bytes(): number {
    return [...this.entries.values()].reduce((sum, { frozen }) => sum + frozen.bytes, 0);
  }

  has(id: SandboxId): boolean {
    return this.entries.has(id);
  }

  /** True as long as exactly these processes are in the cache. */
  keeps(id: SandboxId, frozen: FrozenSandbox): boolean {
    return this.entries.get(id)?.frozen === frozen;
  }

  /** Whether a sandbox of this size may be kept now. */
  takes(bytes: number): boolean {
    const { limits, memory } = this.parts;
    if (this.isClosed || limits.lingerMs === 0 || this.heldBytes() + bytes > limits.budgetBytes) return false;
    const { freeBytes, leastFreeBytes } = memory();
    return freeBytes >= leastFreeBytes;
  }

  /** Adds a sandbox; drops older ones when the budget needs it. */
  add(id: SandboxId, frozen: FrozenSandbox): void {
    const { limits, clock } = this.parts;
    this.entries.delete(id);
    this.dropOldest(() => this.bytes + frozen.bytes > limits.budgetBytes);
    const now = clock.monotonic();
    this.entries.set(id, { frozen, until: now + limits.lingerMs, tryAt: now + limits.lingerMs * TRY_AFTER, trial: "none" });
  }

  /** Removes a sandbox without ending its processes, which the caller then owns. Undefined when it is not in the cache. */
  take(id: SandboxId): FrozenSandbox | undefined {
    const entry = this.entries.get(id);
    this.entries.delete(id);
    return entry?.frozen;
  }

  /** To be called regularly: starts trials, drops sandboxes that were kept too long, and more when memory runs short. */
  look(): void {
    if (this.entries.size === 0) return;
    const now = this.parts.clock.monotonic();
    const { freeBytes, leastFreeBytes } = this.parts.memory();
    this.startTrials(now, freeBytes - leastFreeBytes);
    this.dropOldest((oldest) => oldest.until <= now && oldest.trial !== "running" && !this.waitsForTrial(oldest));
    let freed = 0;
    this.dropOldest(({ frozen }) => {
      const isShort = freeBytes + freed < leastFreeBytes;
      freed += frozen.bytes;
      return isShort;
    });
  }

  /** Starts due trials, the oldest first. A trial takes as much memory as the sandbox holds: at most `spareBytes` for all that start now. */
  private startTrials(now: number, spareBytes: number): void {
    let left = spareBytes;
    for (const [id, entry] of this.entries) {
      if (this.trials.size >= this.parts.limits.trialsAtOnce) return;
      if (entry.trial !== "none" || entry.tryAt > now) continue;
      left -= entry.frozen.bytes;
      if (left < 0) return;
      entry.trial = "running";
      const trial = this.acts.tryImage(id, entry.frozen, this.closing.signal).then((result) => {
        entry.trial = result;
        this.trials.delete(trial);
      });
      this.trials.add(trial);
    }
  }

  /** True for a sandbox whose time is over, but which others are tried before. When no trial is under way there was no memory for one. */
  private waitsForTrial({ trial }: Entry): boolean {
    return trial === "none" && this.trials.size > 0;
  }

  private heldBytes(): number {
    return [...this.entries.values()].reduce((sum, { frozen, trial }) => sum + (trial === "fails" ? frozen.bytes : 0), 0);
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
    this.closing.abort();
    await Promise.all(this.trials);
    for (const entry of this.entries.values()) entry.trial = "unknown";
    this.dropOldest(() => true);
    await Promise.all(this.drops);
  }

  /** Drops sandboxes, the oldest first, while `shouldDrop` is true; never one whose image can't be started. */
  private dropOldest(shouldDrop: (oldest: Entry) => boolean): Promise<void>[] {
    const started: Promise<void>[] = [];
    for (const [id, entry] of this.entries) {
      if (entry.trial === "fails") continue;
      if (!shouldDrop(entry)) break;
      this.entries.delete(id);
      const drop = this.acts.drop(id).finally(() => this.drops.delete(drop));
      this.drops.add(drop);
      started.push(drop);
    }
    return started;
  }
}
