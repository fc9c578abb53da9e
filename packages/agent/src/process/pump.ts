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

/** More than the runtime holds of what it has read ahead and nobody has asked for yet (half a megabyte was seen). */
const READ_AHEAD = 1024 * 1024;

/** The most that is taken at once of a program that has not been read from yet: as much as a pipe can be made to hold. */
const SWEEP_BYTES = 1024 * 1024;
const SWEEP_PIECE = new Uint8Array(64 * 1024);

/**
 * Reads one descriptor to its end into a target, at the target's pace, from `begin` on. Watching a descriptor costs more than all else that
 * the agent does for a small command, so one that may end at once is not watched at first; what it has written by then is swept up.
 */
export class Pump {
  /** Since when it waits for the program to write; undefined while it waits for room, or after the end. */
  waitingSince: number | undefined;
  /** Why what the program wrote did not all come through. */
  failure: string | undefined;
  private readonly ended = Promise.withResolvers<void>();
  private hasBegun = false;
  private isAtEnd = false;
  /** So much at most is still to come of what was written before `hurry`. */
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

  /** Resolves at the end of what was begun. */
  get done(): Promise<void> {
    return this.ended.promise;
  }

  /** From now on takes what comes. Repeatable. */
  begin(): void {
    if (this.hasBegun || this.isAtEnd) return;
    this.hasBegun = true;
    void this.run();
  }

  /** Before `begin`: takes what the kernel holds now. */
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

  /** Whether there is something in the kernel that has not come through yet: on a starved machine a timer may be served before it. */
  get isBehind(): boolean {
    return !this.isAtEnd && hasPending(this.fd);
  }

  /**
   * From here on what the kernel holds of the program's output now is read without waiting for room: the kernel's own bound on it is the
   * bound on what that takes. What others write after it has its turn with the target again.
   */
  hurry(): void {
    if (!this.isAtEnd) this.owed = pendingBytes(this.fd) + READ_AHEAD;
  }

  /**
   * Whether something of what was there at `hurry` may not have come through. It has when the kernel was seen empty while nothing waited here,
   * or when as much has come, from whomever.
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

  /** A terminal whose program side is closed by everyone gives EIO: that is its end. A pipe gives errors only when something is lost. */
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
