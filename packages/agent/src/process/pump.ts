import { readSync } from "node:fs";
import type { Clock } from "@boxyard/core";
import { errnoOf } from "../sys/errno-of.ts";
import { closeQuietly, hasPending, pendingBytes } from "../sys/native.ts";
import type { OutputKind } from "./output-log.ts";

export interface PumpTarget {
  /** Resolves when more may be read, or when `isUrgent` has become true and `recheck` was called. */
  room(isUrgent: () => boolean): Promise<void>;
  append(kind: OutputKind, bytes: Uint8Array): void;
}

/** More bytes than the runtime reads ahead of its reader (half a megabyte was seen). */
const READ_AHEAD = 1024 * 1024;

/** Most bytes of one `sweep`: as many as a pipe can hold. */
const SWEEP_BYTES = 1024 * 1024;
const SWEEP_PIECE = new Uint8Array(64 * 1024);

/**
 * Reads a descriptor to its end into a target, at the target's pace, from `begin` on. Adding a descriptor to the event loop costs more than all other
 * work for a small command, so the output of a command that may end at once is not awaited at first: `sweep` reads it at the end.
 */
export class Pump {
  /** Since when it waits for the program to write; undefined while it waits for the target, and after the end. */
  waitingSince: number | undefined;
  /** The errno of a failed read, after which output is missing. */
  failure: string | undefined;
  private readonly ended = Promise.withResolvers<void>();
  private hasBegun = false;
  private isAtEnd = false;
  /** Upper bound on the unread bytes that were written before `hurry`. */
  private owed = 0;
  private readonly fd: number;
  private readonly kind: OutputKind;
  private readonly target: PumpTarget;
  private readonly clock: Clock;

  constructor(fd: number, kind: OutputKind, target: PumpTarget, clock: Clock) {
    this.fd = fd;
    this.kind = kind;
    this.target = target;
    this.clock = clock;
  }

  /** Resolves at the end of the descriptor. */
  get done(): Promise<void> {
    return this.ended.promise;
  }

  /** Starts reading. Repeatable. */
  begin(): void {
    if (this.hasBegun || this.isAtEnd) return;
    this.hasBegun = true;
    void this.run();
  }

  /** Reads what the kernel holds now, synchronously. Does nothing after `begin`. */
  sweep(): void {
    if (this.hasBegun || this.isAtEnd) return;
    try {
      for (let taken = 0; taken < SWEEP_BYTES; ) {
        const count = readSync(this.fd, SWEEP_PIECE);
        if (count === 0) {
          this.end();
          return;
        }
        this.target.append(this.kind, SWEEP_PIECE.slice(0, count));
        taken += count;
      }
    } catch (error) {
      if (errnoOf(error) === "EAGAIN") return;
      this.note(error);
      this.end();
    }
  }

  get atEnd(): boolean {
    return this.isAtEnd;
  }

  /** Whether the kernel holds unread output: on a busy machine a timer may fire before the event loop reads it. */
  get isBehind(): boolean {
    return !this.isAtEnd && hasPending(this.fd);
  }

  /**
   * Makes the output that the kernel holds now be read without waiting for the target; its size is bounded by the kernel. Output that is written
   * later waits for the target again.
   */
  hurry(): void {
    if (!this.isAtEnd) this.owed = pendingBytes(this.fd) + READ_AHEAD;
  }

  /**
   * Whether output from before `hurry` may still be unread. It is read when the kernel was empty while the pump waited for the program, or when as
   * many bytes were read since.
   */
  stillOwes(): boolean {
    if (this.isAtEnd || (this.waitingSince !== undefined && !hasPending(this.fd))) this.owed = 0;
    return this.owed > 0;
  }

  private async run(): Promise<void> {
    const isUrgent = () => this.owed > 0;
    try {
      const reader = Bun.file(this.fd).stream().getReader();
      for (;;) {
        await this.target.room(isUrgent);
        this.waitingSince = this.clock.monotonic();
        const { done, value } = await reader.read();
        if (done) return;
        this.waitingSince = undefined;
        this.owed = Math.max(0, this.owed - value.length);
        this.target.append(this.kind, value);
      }
    } catch (error) {
      this.note(error);
    } finally {
      this.end();
    }
  }

  /** Keeps a read error. A terminal without open program side gives EIO, which is its end. For a pipe an error means lost output. */
  private note(error: unknown): void {
    if (this.kind !== "pty") this.failure = errnoOf(error) ?? "it cannot be read";
  }

  private end(): void {
    this.waitingSince = undefined;
    this.isAtEnd = true;
    closeQuietly(this.fd);
    this.ended.resolve();
  }
}
