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

/** Multiples of the reserve: the disk below becomes short when less than SHORT is free, and stays short until more than ENOUGH is free. */
const SHORT = 1.5;
const ENOUGH = 2;
/** When the pool's data chunks have more free space than so many times `aheadBytes`, this space gets no blocks while the disk is not short. */
const MOST_FREE_IN_CHUNKS = 4;
/** With less free on the disk, allocating is not tried again. */
const LEAST_BYTES = 2 ** 20;

/**
 * Allocates the blocks of the pool's sparse file before they are needed. Data that a sandbox writes stays in memory for up to half a minute before
 * btrfs writes it to the disk below. If that disk is full by then, the data is lost, and a failed write of a tree makes the file system read-only
 * for good. So all places that btrfs may write to next are allocated ahead: its trees, its data, and its next chunks. Then accepted data reaches
 * the disk even when other programs fill it to the last byte.
 *
 * While the disk is short, blocks that are freed in the pool are not discarded, because other programs would take them.
 *
 * There is no state on disk. Allocating is repeatable, and a new server counts the blocks that a dead one has allocated.
 */
export class AllocateAhead {
  private readonly dataDir: string;
  private readonly reserve: Reserve;
  private readonly logger: Logger;
  private readonly stop = new AbortController();
  /** Whether the disk was short when the mount's option for discards was last set; undefined when it was not set yet. */
  private isShort: boolean | undefined;
  /** The sizes for which everything is allocated; undefined when something is missing. */
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

  /** Allocates the missing blocks; concurrent calls share one run. Never fails: failures are logged. */
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

  /** To be called when the pool was mounted again: the new mount has default options. */
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
    if (this.isLacking) this.logger.info("the blocks that the pool writes next are allocated on the disk below it again");
    this.isLacking = false;
  }

  /** Data directory, store and log are usually on the same disk: the pool must leave them some of it. */
  private wanted(space: PoolSpace, aheadBytes: number, reserveBytes: number, isShort: boolean): Piece[] {
    const layout = { chunks: chunksOf(poolPaths(this.dataDir).root), sizeBytes: space.imageBytes };
    const gapBytes = Math.min(aheadBytes, Math.max(0, space.hostFreeBytes - reserveBytes));
    const pieces = piecesToAllocate(layout, gapBytes, true);
    const lacking = pieces.reduce((sum, { bytes }) => sum + bytes, -space.allocatedBytes);
    const isMuchFree = space.data.totalBytes - space.data.takenBytes > MOST_FREE_IN_CHUNKS * aheadBytes;
    const withData = (isShort || !isMuchFree) && space.hostFreeBytes - lacking >= reserveBytes * LEFT;
    return withData ? pieces : piecesToAllocate(layout, gapBytes, false);
  }

  /** Starts a process for each piece, because the call blocks on a busy disk. */
  private async allocatePieces(image: string, pieces: readonly Piece[]): Promise<boolean> {
    // By descriptor, so that a file that was just deleted is not created again.
    const fd = openSync(image, "r+");
    try {
      const file = `/proc/${process.pid}/fd/${fd}`;
      for (const { start, bytes } of pieces) {
        await this.run(["fallocate", "--keep-size", "--offset", `${start}`, "--length", `${bytes}`, file]);
      }
      return true;
    } catch (error) {
      if (!this.stop.signal.aborted) this.logLack(error);
      return false;
    } finally {
      closeSync(fd);
    }
  }

  private logLack(error: unknown): void {
    const text = isAppError(error) ? String(error.details?.output ?? "") : "";
    if (text.includes("not supported")) {
      this.isImpossible = true;
      this.logger.warn(
        { err: error },
        "the disk below the pool cannot allocate blocks ahead: when other programs fill it, writes of sandboxes may be lost",
      );
    } else if (!this.isLacking) {
      const message = "could not allocate the blocks that the pool writes next on the disk below it: writes of sandboxes may be lost";
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

  /** In the C locale, because `logLack` compares messages. */
  private run(command: [string, ...string[]]): Promise<string> {
    return runCommand(["env", "LC_ALL=C", ...command], { name: command[0], signal: this.stop.signal });
  }
}
