import type { Clock } from "@boxyard/core";
import { AppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { type OutputKind, OutputLog, type OutputPiece, type PackedLog } from "./output-log.ts";
import { ALONE, type OutputBounds } from "./output-shares.ts";

/** What a reader gets, in order: pieces of output, then the end. */
export type Delivery<End> = { readonly piece: OutputPiece } | { readonly end: End };

/** What is left of the output of a process that has ended, while nobody reads it. */
export interface PackedBroadcast<End> {
  readonly end: End;
  readonly receivedTo: number;
  readonly log: PackedLog;
}

/**
 * The output of one process and those who read it.
 *
 * The log is shared; a reader is a place in it. The process runs as fast as the quickest reader takes; while even that one lags, the process
 * is not read from, so it waits, but only until the quickest has taken nothing for `stallMs`. A slower reader may fall far behind; from
 * there on it holds the others up, but only for a moment in all, then it is let go. Without readers the process runs free and the log
 * keeps the last output for the next one.
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

  /** All that it is, once it has ended and nobody reads it; undefined before. */
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
   * A new reader. It starts behind what any reader has received so far, or at `offset` when one is asked for; in both cases not before what
   * the log still holds, nor behind its end. `reader.offset` says where.
   */
  subscribe(offset?: number): Reader<End> {
    const from = Math.min(Math.max(offset ?? this.receivedTo, this.log.start), this.log.end);
    const reader = new Reader<End>(this, from);
    this.readers.add(reader);
    return reader;
  }

  /** Resolves when the process may be read from, or must be: see `recheck`. */
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

  /** Has those who wait for room ask again whether they must wait. */
  recheck(): void {
    for (const wake of this.waiting) wake();
  }

  /** For readers: one has taken everything before `offset`. */
  took(reader: Reader<End>): void {
    this.receivedTo = Math.max(this.receivedTo, reader.offset);
    reader.awaitedSince = undefined;
    this.recheck();
  }

  /** For readers: one has gone. */
  left(reader: Reader<End>): void {
    this.readers.delete(reader);
    this.log.trim(this.slowest()?.offset);
    this.recheck();
  }

  /**
   * Even the quickest lags. It may take its time, as long as it takes anything at all; but the time runs for all of them at once, so that
   * several who take nothing hold the process up no longer than one.
   */
  private async waitForAny(quickest: Reader<End>): Promise<void> {
    this.isAwaited = true;
    const now = this.clock.monotonic();
    for (const reader of this.readers) reader.awaitedSince ??= now;
    const left = (quickest.awaitedSince ?? now) + this.stallMs - now;
    if (left <= 0) quickest.fail(lagged());
    else await this.moved(left);
  }

  /** The process goes on: nobody has held it up so far. */
  private endWait(): void {
    this.isAwaited = false;
    for (const reader of this.readers) reader.awaitedSince = undefined;
  }

  /** Others wait for it too; what it costs them is counted. */
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

  /** Resolves when a reader has moved or gone, or after `ms`. */
  private moved(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
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

/** One reader's place. `next` is asked again only when what it gave has been taken; that is what counts as received. */
export class Reader<End> {
  /** Offset of the next byte it gets. */
  offset: number;
  /** Since when the process waits for it to take anything: not since it took something last, which may be long ago when there was nothing. */
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
