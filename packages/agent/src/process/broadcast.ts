import type { Clock } from "@boxyard/core";
import { AppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { after } from "../timers.ts";
import { type OutputKind, OutputLog, type OutputPiece, type PackedLog } from "./output-log.ts";
import { ALONE, type OutputBounds } from "./output-shares.ts";

/** What a reader gets, in order: pieces of output, then the end. */
export type Delivery<End> = { readonly piece: OutputPiece } | { readonly end: End };

/** The output of an ended process in a form that takes less memory and cannot be read. */
export interface PackedBroadcast<End> {
  readonly end: End;
  readonly receivedTo: number;
  readonly log: PackedLog;
}

/**
 * The output of one process, and its readers.
 *
 * The log is shared; each reader has an offset in it. The process runs at the pace of the quickest reader: while that one is behind, the process is
 * not read from and blocks in its write. A reader that receives nothing for `stallMs` of such time is disconnected. A slower reader may be behind
 * the quickest one up to a bound; beyond it the others wait for it, for a second in all, then it is disconnected. Without readers the process never
 * waits, and the log keeps the last output for the next reader.
 */
export class Broadcast<End> {
  readonly log: OutputLog;
  private readonly readers = new Set<Reader<End>>();
  private readonly clock: Clock;
  private readonly bounds: OutputBounds;
  private readonly stallMs: number;
  private ending: { readonly value: End } | undefined;
  private receivedTo = 0;
  private readonly waiting = new Set<() => void>();
  /** Whether the process waits for readers. */
  private isAwaited = false;

  constructor(clock: Clock, bounds: OutputBounds = ALONE, stallMs: number = LIMITS.readerStallMs, log = new OutputLog(bounds)) {
    this.clock = clock;
    this.bounds = bounds;
    this.log = log;
    this.stallMs = stallMs;
  }

  static unpack<End>({ end, receivedTo, log }: PackedBroadcast<End>, clock: Clock): Broadcast<End> {
    const broadcast = new Broadcast<End>(clock, ALONE, LIMITS.readerStallMs, OutputLog.unpack(log));
    broadcast.receivedTo = receivedTo;
    broadcast.ending = { value: end };
    return broadcast;
  }

  /** The packed form; undefined before the end, and while there are readers. */
  pack(): PackedBroadcast<End> | undefined {
    if (!this.ending || this.readers.size > 0) return undefined;
    return { end: this.ending.value, receivedTo: this.receivedTo, log: this.log.pack() };
  }

  get end(): End | undefined {
    return this.ending?.value;
  }

  get readerCount(): number {
    return this.readers.size;
  }

  append(kind: OutputKind, bytes: Uint8Array): void {
    if (this.ending) return;
    this.bounds.wrote?.(this.clock.now());
    this.log.append(kind, bytes, this.slowest()?.offset);
    for (const reader of this.readers) reader.wake();
  }

  finish(end: End): void {
    if (this.ending) return;
    this.ending = { value: end };
    for (const reader of this.readers) reader.wake();
    this.recheck();
  }

  /**
   * Adds a reader. It starts behind the output that any reader has received so far, or at `offset` if given; in both cases within the log.
   * `reader.offset` is the actual start.
   */
  subscribe(offset?: number): Reader<End> {
    const from = Math.min(Math.max(offset ?? this.receivedTo, this.log.start), this.log.end);
    const reader = new Reader<End>(this, from);
    this.readers.add(reader);
    return reader;
  }

  /** Resolves when the process may be read from, or has ended, or `isUrgent` is true, which `recheck` makes it ask again. */
  async room(isUrgent: () => boolean = () => false): Promise<void> {
    while (!this.ending && !isUrgent()) {
      const quickest = this.quickest();
      const slowest = this.slowest();
      if (!quickest || !slowest) return;
      if (this.log.costFrom(quickest.offset) > LIMITS.readerLagBytes) {
        await this.waitForAny(quickest);
        continue;
      }
      if (this.isAwaited) this.endWait();
      if (this.log.costFrom(slowest.offset) > this.bounds.behindBytes) await this.waitForSlower(slowest);
      else return;
    }
  }

  /** Makes pending calls of `room` check their conditions again. */
  recheck(): void {
    for (const wake of this.waiting) wake();
  }

  /** Called by a reader that has received everything before its `offset`. */
  took(reader: Reader<End>): void {
    this.receivedTo = Math.max(this.receivedTo, reader.offset);
    reader.awaitedSince = undefined;
    this.recheck();
  }

  /** Called by a reader that leaves. */
  left(reader: Reader<End>): void {
    this.readers.delete(reader);
    this.log.trim(this.slowest()?.offset);
    this.recheck();
  }

  /**
   * Waits for the quickest reader, which is behind. Each reader has `stallMs` to receive something. The time runs for all readers at once, so that
   * several which receive nothing block the process no longer than one.
   */
  private async waitForAny(quickest: Reader<End>): Promise<void> {
    this.isAwaited = true;
    const now = this.clock.monotonic();
    for (const reader of this.readers) reader.awaitedSince ??= now;
    const left = (quickest.awaitedSince ?? now) + this.stallMs - now;
    if (left <= 0) quickest.fail(lagged());
    else await this.moved(left);
  }

  /** The process goes on: the time of every reader is reset. */
  private endWait(): void {
    this.isAwaited = false;
    for (const reader of this.readers) reader.awaitedSince = undefined;
  }

  /** Waits for a reader beyond its bound, and adds the time to its `heldOthersMs`. */
  private async waitForSlower(reader: Reader<End>): Promise<void> {
    const left = LIMITS.readerHoldMs - reader.heldOthersMs;
    if (left <= 0) return reader.fail(lagged());
    const startedAt = this.clock.monotonic();
    await this.moved(left);
    // Timers may fire a little early by this clock; at least something is counted each time.
    reader.heldOthersMs += Math.max(0.1, this.clock.monotonic() - startedAt);
  }

  private quickest(): Reader<End> | undefined {
    let quickest: Reader<End> | undefined;
    for (const reader of this.readers) if (!quickest || reader.offset > quickest.offset) quickest = reader;
    return quickest;
  }

  private slowest(): Reader<End> | undefined {
    let slowest: Reader<End> | undefined;
    for (const reader of this.readers) if (!slowest || reader.offset < slowest.offset) slowest = reader;
    return slowest;
  }

  /** Resolves when a reader has received something or left, or after `ms`. */
  private moved(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        cancel();
        this.waiting.delete(wake);
        resolve();
      };
      const cancel = after(ms, wake);
      this.waiting.add(wake);
    });
  }
}

function lagged(): AppError {
  return new AppError(
    "aborted",
    "this client read the output too slowly, so its stream was ended; the process goes on, and can be connected to again",
    { reason: "reader_lagged" },
  );
}

/** One reader of the output. A piece counts as received when `next` is called again, so the caller sends it before that. */
export class Reader<End> {
  /** Offset of the next byte it gets. */
  offset: number;
  /** Since when the process waits for this reader; undefined while it does not. (Not the time of its last piece: the process may have been silent since.) */
  awaitedSince: number | undefined;
  /** How long quicker readers have waited for it, in all. */
  heldOthersMs = 0;
  private readonly source: Broadcast<End>;
  private given = 0;
  private isOver = false;
  private failure: AppError | undefined;
  private wakeUp = () => {};

  constructor(source: Broadcast<End>, offset: number) {
    this.source = source;
    this.offset = offset;
  }

  /** The next delivery; undefined after the end. Rejects when the stream was ended because its reader was too slow. */
  async next(): Promise<Delivery<End> | undefined> {
    if (this.given > 0) {
      this.offset += this.given;
      this.given = 0;
      this.source.took(this);
    }
    for (;;) {
      if (this.failure) throw this.failure;
      if (this.isOver) return undefined;
      const piece = this.source.log.pieceAt(this.offset);
      if (piece) {
        this.given = piece.bytes.length;
        return { piece };
      }
      const end = this.source.end;
      if (end !== undefined) {
        this.leave();
        return { end };
      }
      await new Promise<void>((resolve) => {
        this.wakeUp = resolve;
      });
    }
  }

  /** Repeatable. A waiting `next` gives undefined. */
  leave(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.source.left(this);
    this.wakeUp();
  }

  wake(): void {
    this.wakeUp();
  }

  fail(error: AppError): void {
    this.failure = error;
    this.leave();
  }
}
