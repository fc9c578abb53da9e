import { readFileSync } from "node:fs";
import type { Clock } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { setQgroupLimit, subvolumeId } from "../sys/btrfs.ts";
import { hasErrno } from "../sys/libc.ts";
import type { Growth } from "./room.ts";

/** A subvolume that is written to. */
export interface Grower {
  readonly path: string;
  /** How much it may hold when there is room; undefined when this is not known. Called only when its limit is to be set. */
  readonly limitBytes: () => number | undefined;
}

export interface GrowthGuardParts {
  /** The mounted pool. */
  readonly root: string;
  /** The kernel's directory of the pool's quota groups, in /sys/fs/btrfs. */
  readonly qgroups: string;
  readonly growth: () => Growth;
  readonly growers: () => readonly Grower[];
  /** Tries to make a pool writable again that the kernel has made read-only; possible when no sandbox uses it. */
  readonly recover: () => Promise<void>;
  /** Allocates the blocks on the disk below the pool that the pool writes next. Never fails. */
  readonly allocateAhead: () => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const MIB = 2 ** 20;
/** Free space is divided by the number of growers, within these bounds: below `least` one could take all at once; above `most` few of them write. */
const SHARES = { least: 2, most: 8 } as const;
/** How much of the reserve each grower may still write once growth is paused, bytes. */
const LAST = { least: MIB, most: 64 * MIB } as const;
/** No disk writes faster. It bounds how soon the free space can be used up. */
const FASTEST_BYTES_PER_MS = 8 * MIB;
const LOOK_MS = { least: 50, most: 2_000, paused: 500, readOnly: 2_000 } as const;

/**
 * Keeps a thin pool, and the disk below it, from filling up. The limits of all sandboxes together may exceed the free space. So the limit that the
 * kernel enforces for each is what it holds and a share of the free space, and never more than its own limit. Below the reserve growth is paused:
 * each gets at most `LAST` more, then its writes fail with EDQUOT, and its processes go on. Growth resumes when space is free again.
 *
 * The kernel enforces the limits at every moment; growth between two checks of this guard is bounded by the shares.
 */
export class GrowthGuard {
  private readonly parts: GrowthGuardParts;
  private readonly stop = new AbortController();
  /** Paths of the growers that have got their `LAST`, while growth is paused. */
  private readonly paused = new Set<string>();
  private isPaused = false;
  /** Free space at the last change of limits, and the share of each grower in it. */
  private given = { growth: Number.NaN, share: 0 };
  private looking: Promise<void> | undefined;

  constructor(parts: GrowthGuardParts) {
    this.parts = parts;
  }

  start(): void {
    this.look();
    this.looking = this.keepLooking();
  }

  async close(): Promise<void> {
    this.stop.abort();
    await this.looking;
  }

  /**
   * Makes a subvolume that may hold `limitBytes` when there is room: `make` gets the limit for now. When this is less than `limitBytes`, the shares
   * of all growers are set again at once, so that the new one gets its share from the others.
   */
  async add<T>(limitBytes: number, make: (limitBytes: number) => T | Promise<T>): Promise<T> {
    if (this.isPlenty(limitBytes)) return make(limitBytes);
    const share = this.isPaused ? 0 : this.shareOf(this.parts.growth().bytes, this.parts.growers().length + 1);
    const limit = Math.floor(Math.min(limitBytes, Math.max(LAST.least, share)));
    const made = await make(limit);
    if (limit < limitBytes) this.look();
    return made;
  }

  /** True when at the last check even half of the smallest share was more than this. */
  private isPlenty(limitBytes: number): boolean {
    return !this.isPaused && this.given.growth / SHARES.most > 2 * limitBytes;
  }

  /** Checks the free space and sets limits. Returns the pause until the next check, ms. */
  look(): number {
    const growth = this.parts.growth();
    const wasPaused = this.isPaused;
    this.isPaused = growth.bytes < (wasPaused ? growth.resumeBytes : growth.pauseBytes);
    if (this.isPaused !== wasPaused) this.logChange(growth);
    if (growth.what === "pool_read_only") return LOOK_MS.readOnly;
    const growers = this.parts.growers();
    if (this.isPaused) this.pause(growers, growth);
    else this.share(growers, growth.bytes);
    if (this.isPaused) return LOOK_MS.paused;
    return Math.min(LOOK_MS.most, Math.max(LOOK_MS.least, growth.bytes / FASTEST_BYTES_PER_MS));
  }

  private async keepLooking(): Promise<void> {
    const { clock, logger } = this.parts;
    const { signal } = this.stop;
    let next: number = LOOK_MS.least;
    while (!signal.aborted) {
      await clock.sleep(next, signal).catch(() => {});
      if (signal.aborted) return;
      try {
        if (this.parts.growth().what === "pool_read_only") await this.parts.recover();
        // Not awaited, because limits must be set meanwhile: on a busy disk allocating takes seconds.
        void this.parts.allocateAhead();
        next = this.look();
      } catch (error) {
        logger.error({ err: error }, "could not check the free space of the pool and set limits");
        next = LOOK_MS.most;
      }
    }
  }

  private logChange({ what }: Growth): void {
    const { logger } = this.parts;
    if (what === "pool_read_only") logger.error({ reason: what }, "the pool takes no writes: the disk below it failed or was full");
    else if (this.isPaused) logger.warn({ reason: what }, "growth of sandboxes is paused: no more than the reserve is free");
    else logger.info("growth of sandboxes goes on");
  }

  private shareOf(bytes: number, count: number): number {
    return Math.max(0, bytes / Math.min(Math.max(count, SHARES.least), SHARES.most));
  }

  /** Sets limits only when much has changed: with many sandboxes this takes some milliseconds. */
  private share(growers: readonly Grower[], bytes: number): void {
    const { given } = this;
    const share = this.shareOf(bytes, growers.length);
    const isNearlySame = Math.abs(given.growth - bytes) < given.share / 4 && Math.abs(given.share - share) < given.share / 4;
    if (isNearlySame && this.paused.size === 0) return;
    this.paused.clear();
    for (const grower of growers) this.limit(grower, share);
    this.given = { growth: bytes, share };
  }

  private pause(growers: readonly Grower[], { reserveBytes }: Growth): void {
    const last = Math.min(LAST.most, Math.max(LAST.least, reserveBytes / 4 / growers.length));
    for (const grower of growers) {
      if (this.paused.has(grower.path)) continue;
      this.limit(grower, last);
      this.paused.add(grower.path);
    }
  }

  /** Sets a grower's limit to what it holds plus `more`, but never above its own limit. */
  private limit({ path, limitBytes }: Grower, more: number): void {
    const { root, qgroups } = this.parts;
    const most = limitBytes();
    if (most === undefined) return;
    try {
      const id = subvolumeId(path);
      const number = (file: string) => Number(readFileSync(`${qgroups}/0_${id}/${file}`, "utf8"));
      const wanted = Math.floor(Math.min(most, number("referenced") + number("rsv_data") + more));
      if (number("max_referenced") !== wanted) setQgroupLimit(root, id, wanted);
    } catch (error) {
      // The subvolume has just been removed.
      if (!hasErrno(error, "ENOENT")) throw error;
    }
  }
}
