import { readFileSync } from "node:fs";
import type { Clock } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { setQgroupLimit, subvolumeId } from "../sys/btrfs.ts";
import { hasErrno } from "../sys/libc.ts";
import type { Growth } from "./room.ts";

/** A subvolume that somebody writes to. */
export interface Grower {
  readonly path: string;
  /** What it may hold when there is room; undefined when nobody knows it. Asked for only when its limit is to be set. */
  readonly limitBytes: () => number | undefined;
}

export interface GrowthGuardParts {
  /** The mounted pool. */
  readonly root: string;
  /** The kernel's directory of its accounts. */
  readonly qgroups: string;
  readonly growth: () => Growth;
  readonly growers: () => readonly Grower[];
  /** Tries to make a pool writable again that the kernel has made read-only, if no sandbox holds it. */
  readonly recover: () => Promise<void>;
  /** Gives the pool the blocks on the disk below it that it needs next. Never fails. */
  readonly allocateAhead: () => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const MIB = 2 ** 20;
/** What is free is shared among so many: fewer than the first would let one take all at once; beyond the second, few of them write. */
const SHARES = { least: 2, most: 8 } as const;
/** Each may still write so much of the reserve once growth is paused. */
const LAST = { least: MIB, most: 64 * MIB } as const;
/** No disk takes more in a second: how long the room there is can last. */
const FASTEST_BYTES_PER_MS = 8 * MIB;
const LOOK_MS = { least: 50, most: 2_000, paused: 500, readOnly: 2_000 } as const;

/**
 * Keeps a thin pool, and the disk below it, from filling up. Limits of sandboxes may exceed what there is, so each gets as limit what it holds and a
 * share of what is free, and never more than its own. Below the reserve growth is paused: nobody gets more than a last little, writes fail
 * with EDQUOT, and what runs goes on; when space is free again, growth goes on by itself.
 *
 * The kernel enforces the limits at every moment; what comes between two looks of this guard is bounded by the shares.
 */
export class GrowthGuard {
  private readonly parts: GrowthGuardParts;
  private readonly stop = new AbortController();
  /** Those that have got their last little, while growth is paused. */
  private readonly paused = new Set<string>();
  private isPaused = false;
  /** What was free at the last change of limits, and each one's share of it. */
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
   * Makes a subvolume that may hold `limitBytes` when there is room: `make` gets the limit that it is to have now. While few have most of what is
   * free, what one more gets is taken from the others at once.
   */
  async add<T>(limitBytes: number, make: (limitBytes: number) => T | Promise<T>): Promise<T> {
    if (this.isPlenty(limitBytes)) return make(limitBytes);
    const share = this.isPaused ? 0 : this.shareOf(this.parts.growth().bytes, this.parts.growers().length + 1);
    const limit = Math.floor(Math.min(limitBytes, Math.max(LAST.least, share)));
    const made = await make(limit);
    if (limit < limitBytes) this.look();
    return made;
  }

  /** True when the last look has left no doubt: even the smallest share is more than this. */
  private isPlenty(limitBytes: number): boolean {
    return !this.isPaused && this.given.growth / SHARES.most > 2 * limitBytes;
  }

  /** One look. Returns how long until the next, ms. */
  look(): number {
    const growth = this.parts.growth();
    const wasPaused = this.isPaused;
    this.isPaused = growth.bytes < (wasPaused ? growth.resumeBytes : growth.pauseBytes);
    if (this.isPaused !== wasPaused) this.tell(growth);
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
        // Limits must not wait for it: on a busy disk it takes seconds.
        void this.parts.allocateAhead();
        next = this.look();
      } catch (error) {
        logger.error({ err: error }, "could not look after the growth of the pool");
        next = LOOK_MS.most;
      }
    }
  }

  private tell({ what }: Growth): void {
    const { logger } = this.parts;
    if (what === "pool_read_only") logger.error({ reason: what }, "the pool takes no writes: the disk below it failed or was full");
    else if (this.isPaused) logger.warn({ reason: what }, "growth of sandboxes is paused: no more than the reserve is free");
    else logger.info("growth of sandboxes goes on");
  }

  private shareOf(bytes: number, count: number): number {
    return Math.max(0, bytes / Math.min(Math.max(count, SHARES.least), SHARES.most));
  }

  /** Only when much has changed: with many sandboxes this takes some milliseconds. */
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

  /** What it holds and `more`, but never more than its own limit. */
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
      // Its subvolume has just been removed.
      if (!hasErrno(error, "ENOENT")) throw error;
    }
  }
}
