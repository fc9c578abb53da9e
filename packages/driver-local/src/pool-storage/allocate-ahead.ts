import { closeSync, openSync } from "node:fs";
import { isAppError } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { diskReserve, poolAhead, type Reserve } from "../reserve-for-machine.ts";
import { filesystemId } from "../sys/btrfs.ts";
import { chunksOf } from "../sys/btrfs-chunks.ts";
import { runCommand } from "../sys/run.ts";
import { type Piece, piecesToAllocate } from "./ahead.ts";
import { isMountedAt, isReadOnly } from "./mount.ts";
import { poolPaths } from "./paths.ts";
import { allocatedAhead, isAllocated, LEFT, type PoolSpace, spaceOf } from "./space.ts";

/** Shares of the reserve: the disk below is short when less is free, and no longer when more is. */
const SHORT = 1.5;
const ENOUGH = 2;
/** More of the free blocks among the pool's data than so many times what is allocated ahead stay the disk's, while it is not short. */
const MOST_FREE_IN_CHUNKS = 4;
/** With less free there is nothing to be had. */
const LEAST_BYTES = 2 ** 20;

/**
 * Gives the pool's sparse file its blocks before they are needed. What a sandbox has written is in memory for up to half a minute before btrfs
 * writes it; if the disk below is full by then, it is lost, and a tree that can't be written makes the file system read-only for good. So all
 * places that btrfs may write to next are allocated ahead: its trees, its data, and its next chunks. Then other programs can fill the disk to the
 * last byte, and what was taken is still written.
 *
 * While the disk is short, blocks that are freed in the pool stay the pool's: others would take them.
 *
 * Nothing of this is written down. Allocating is repeatable, and a server that dies leaves blocks that the next one counts.
 */
export class AllocateAhead {
  private readonly dataDir: string;
  private readonly reserve: Reserve;
  private readonly logger: Logger;
  private readonly stop = new AbortController();
  /** As the mount's option for discards says; undefined when that is not known. */
  private isShort: boolean | undefined;
  /** What there was when everything was allocated; undefined when it was not. */
  private complete: string | undefined;
  private isLacking = false;
  private isImpossible = false;
  private keeping: Promise<void> | undefined;
  private flushing: Promise<unknown> = Promise.resolve();

  constructor(dataDir: string, reserve: Reserve, logger: Logger) {
    this.dataDir = dataDir;
    this.reserve = reserve;
    this.logger = logger;
  }

  /** Allocates what is missing; one at a time. Never fails: what it can't do is in the log. */
  keep(): Promise<void> {
    this.keeping ??= this.keepOnce().finally(() => {
      this.keeping = undefined;
    });
    return this.keeping;
  }

  private async keepOnce(): Promise<void> {
    try {
      await this.look();
    } catch (error) {
      if (!this.stop.signal.aborted) this.logger.error({ err: error }, "could not allocate blocks for the pool ahead");
    }
  }

  /** To be told when the pool was mounted anew: what was set for that mount is gone. */
  forgetMount(): void {
    this.isShort = undefined;
    this.complete = undefined;
  }

  async close(): Promise<void> {
    this.stop.abort();
    await this.keeping;
    await this.flushing;
  }

  private async look(): Promise<void> {
    const { image, root } = poolPaths(this.dataDir);
    if (this.isImpossible || !isMountedAt(root) || isReadOnly(root)) return;
    const space = spaceOf(image, `/sys/fs/btrfs/${filesystemId(root)}`);
    const aheadBytes = poolAhead(space.hostBytes, this.reserve);
    if (aheadBytes === 0 || isAllocated(space)) return;
    const reserveBytes = diskReserve(space.hostBytes, this.reserve);
    const isShort = space.hostFreeBytes < reserveBytes * (this.isShort ? ENOUGH : SHORT);
    await this.allocate(space, aheadBytes, reserveBytes, isShort);
    if (isShort === this.isShort) return;
    await this.changeDiscards(isShort, allocatedAhead(space) > MOST_FREE_IN_CHUNKS * aheadBytes);
    this.isShort = isShort;
  }

  private async allocate(space: PoolSpace, aheadBytes: number, reserveBytes: number, isShort: boolean): Promise<void> {
    const state = (at: PoolSpace) => `${at.allocatedBytes} ${at.data.totalBytes} ${at.treesBytes} ${isShort}`;
    if (this.complete === state(space) || (this.isLacking && space.hostFreeBytes < LEAST_BYTES)) return;
    this.complete = undefined;
    const { image, root } = poolPaths(this.dataDir);
    if (!(await this.allocatePieces(image, this.wanted(space, aheadBytes, reserveBytes, isShort)))) return;
    this.complete = state(spaceOf(image, `/sys/fs/btrfs/${filesystemId(root)}`));
    if (this.isLacking) this.logger.info("the pool has its blocks on the disk below it again");
    this.isLacking = false;
  }

  /** Data directory, store and log are on the same disk mostly: the pool must not take the last of it from them. */
  private wanted(space: PoolSpace, aheadBytes: number, reserveBytes: number, isShort: boolean): Piece[] {
    const layout = { chunks: chunksOf(poolPaths(this.dataDir).root), sizeBytes: space.imageBytes };
    const gapBytes = Math.min(aheadBytes, Math.max(0, space.hostFreeBytes - reserveBytes));
    const pieces = piecesToAllocate(layout, gapBytes, true);
    const lacking = pieces.reduce((sum, { bytes }) => sum + bytes, -space.allocatedBytes);
    const isMuchFree = space.data.totalBytes - space.data.takenBytes > MOST_FREE_IN_CHUNKS * aheadBytes;
    const withData = (isShort || !isMuchFree) && space.hostFreeBytes - lacking >= reserveBytes * LEFT;
    return withData ? pieces : piecesToAllocate(layout, gapBytes, false);
  }

  /** In a process of its own: on a busy disk this waits. */
  private async allocatePieces(image: string, pieces: readonly Piece[]): Promise<boolean> {
    // By descriptor: a file that was deleted a moment ago must not be made again by its name.
    const fd = openSync(image, "r+");
    try {
      const file = `/proc/${process.pid}/fd/${fd}`;
      for (const { start, bytes } of pieces) {
        await this.run(["fallocate", "--keep-size", "--offset", `${start}`, "--length", `${bytes}`, file]);
      }
      return true;
    } catch (error) {
      if (!this.stop.signal.aborted) this.tellLack(error);
      return false;
    } finally {
      closeSync(fd);
    }
  }

  private tellLack(error: unknown): void {
    const text = isAppError(error) ? String(error.details?.output ?? "") : "";
    if (text.includes("not supported")) {
      this.isImpossible = true;
      this.logger.warn({ err: error }, "the disk below the pool allocates no blocks ahead: if others fill it, writes may be lost");
    } else if (!this.isLacking) {
      const message = "the pool did not get the blocks on the disk below it that it may write next: what sandboxes write may be lost";
      this.logger.warn(text.includes("No space left") ? { reason: "host_disk_full" } : { err: error }, message);
    }
    this.isLacking = true;
  }

  private async changeDiscards(isShort: boolean, isMuchFree: boolean): Promise<void> {
    const { root } = poolPaths(this.dataDir);
    await this.run(["mount", "-o", isShort ? "remount,nodiscard" : "remount,discard=async", root]);
    const rest: [string, ...string[]] | undefined = isShort ? ["sync", "--file-system", root] : isMuchFree ? ["fstrim", root] : undefined;
    if (!rest) return;
    const flushed = this.run(rest).catch((err) => {
      if (!this.stop.signal.aborted) this.logger.warn({ err }, "could not flush or trim the pool");
    });
    this.flushing = Promise.all([this.flushing, flushed]);
  }

  /** Messages are read, so they must be in English. */
  private run(command: [string, ...string[]]): Promise<string> {
    return runCommand(["env", "LC_ALL=C", ...command], { name: command[0], signal: this.stop.signal });
  }
}
