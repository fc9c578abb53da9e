import type { FileHandle } from "node:fs/promises";
import { isExchange, type RecordedBody, type RecordedExchange } from "./exchange.ts";
import { FIRST_LINE, FRAME, FRAME_HEAD_BYTES, type FrameKind, frameOf, MAX_FRAME_BYTES } from "./frames.ts";
import type { StopReason } from "./recording-reader.ts";

/** Bytes that wait to be written, from which on the sources should pause. */
const HIGH_WATER = 4 << 20;
/** Bytes that wait to be written, at most: sources that do not pause make the recording stop. */
const MOST_WAITING = 64 << 20;
/** Kept free for the frame that says why a recording stopped. */
const LAST_WORDS = 64;

export interface WriterLimits {
  readonly maxBytes: number;
  readonly maxExchanges: number;
  /** Whether the disk takes so many bytes more; without it the disk is filled until it refuses. */
  readonly hasRoom?: (bytes: number) => Promise<boolean>;
}

export interface WriterState extends WriterLimits {
  /** Behind the last whole frame of the file; 0 for a new one. */
  readonly end: number;
  readonly exchanges: number;
}

/**
 * Appends to the file of a recording, one frame after the other. The place of a frame is known at once, the frame is written later. It stops for good when a limit
 * is reached or the disk refuses, or has no room, and what was written completely stays.
 */
export class RecordingWriter {
  /** Why nothing is written any more. */
  stopped: StopReason | undefined;
  private readonly file: FileHandle;
  private readonly limits: WriterLimits;
  private readonly onStop: (reason: StopReason) => void;
  /** Behind what is accepted, and behind what is written. */
  private end: number;
  private written: number;
  private exchanges: number;
  private waiting: { readonly frame: Buffer; readonly then?: (() => void) | undefined }[] = [];
  private waitingBytes = 0;
  private isClosed = false;
  private isRunning = false;
  private running: Promise<void> = Promise.resolve();
  private readonly drained = new Set<() => void>();

  /** `onStop` is called once. The file must be cut off at `end`, or new. */
  constructor(file: FileHandle, { end, exchanges, ...limits }: WriterState, onStop: (reason: StopReason) => void) {
    this.file = file;
    this.limits = limits;
    this.onStop = onStop;
    this.exchanges = exchanges;
    this.end = end;
    this.written = end;
    if (end === 0) this.enqueue(FIRST_LINE);
  }

  /** False when nothing is accepted any more. */
  get takes(): boolean {
    return !this.stopped && !this.isClosed;
  }

  /** Whether so much waits for the disk that the sources should pause, until `onDrain` calls. */
  get isBehind(): boolean {
    return this.waitingBytes >= HIGH_WATER;
  }

  /** Calls once when the writer is no longer behind; at once if it is not. */
  onDrain(call: () => void): void {
    if (this.isBehind) this.drained.add(call);
    else call();
  }

  /** Appends a piece of a body; returns its place, or undefined when nothing is written any more. */
  data(content: Uint8Array): readonly [at: number, length: number] | undefined {
    const at = this.append(FRAME.data, content);
    return at === undefined ? undefined : [at, content.byteLength];
  }

  /**
   * Appends an exchange whose bodies are in the file. `then` is called with its place once it is written. Returns whether it was accepted: one that no reader would
   * take, because a part of its head is too long, is left out.
   */
  exchange(exchange: RecordedExchange, then: (at: number, length: number) => void = () => {}): boolean {
    if (!this.takes || !isExchange(exchange, this.end)) return false;
    if (this.exchanges >= this.limits.maxExchanges) {
      this.stop("count");
      return false;
    }
    const content = Buffer.from(JSON.stringify(exchange));
    if (content.byteLength > MAX_FRAME_BYTES) {
      this.stop("size");
      return false;
    }
    const at: number | undefined = this.append(FRAME.exchange, content, () => then(at as number, content.byteLength));
    if (at !== undefined) this.exchanges += 1;
    return at !== undefined;
  }

  /** Resolves when everything that was accepted is written, or the disk has refused. */
  async flush(): Promise<void> {
    while (this.isRunning) await this.running;
  }

  /** Writes what was accepted, and accepts nothing from now on: an exchange that goes on is not kept. */
  close(): Promise<void> {
    this.isClosed = true;
    return this.flush();
  }

  private append(kind: FrameKind, content: Uint8Array, then?: () => void): number | undefined {
    if (!this.takes) return undefined;
    const bytes = FRAME_HEAD_BYTES + content.byteLength;
    if (this.end + bytes + LAST_WORDS > this.limits.maxBytes) return this.stop("size");
    if (this.waitingBytes + bytes > MOST_WAITING) return this.stop("disk");
    const at = this.end;
    this.enqueue(frameOf(kind, content), then);
    return at;
  }

  private stop(reason: StopReason): undefined {
    if (this.stopped) return;
    this.stopped = reason;
    this.enqueue(frameOf(FRAME.stopped, Buffer.from(reason)));
    this.onStop(reason);
  }

  private enqueue(frame: Buffer, then?: () => void): void {
    this.waiting.push({ frame, then });
    this.waitingBytes += frame.byteLength;
    this.end += frame.byteLength;
    if (!this.isRunning) this.running = this.run();
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    // What comes together is written together.
    for (let batch = this.takeBatch(); batch.length > 0; batch = this.takeBatch()) {
      const bytes = batch.length === 1 ? (batch[0]?.frame as Buffer) : Buffer.concat(batch.map(({ frame }) => frame));
      try {
        await this.writeAll(bytes);
      } catch {
        await this.giveUp();
        break;
      }
      this.written += bytes.byteLength;
      this.waitingBytes -= bytes.byteLength;
      for (const { then } of batch) then?.();
      this.callDrained();
    }
    this.isRunning = false;
  }

  private takeBatch() {
    let bytes = 0;
    let count = 0;
    while (count < this.waiting.length && bytes < HIGH_WATER) bytes += this.waiting[count++]?.frame.byteLength ?? 0;
    return this.waiting.splice(0, count);
  }

  private async writeAll(bytes: Buffer): Promise<void> {
    if (this.limits.hasRoom && !(await this.limits.hasRoom(bytes.byteLength))) throw new Error("the rest of the disk is for others");
    let done = 0;
    while (done < bytes.byteLength) {
      const { bytesWritten } = await this.file.write(bytes, done, bytes.byteLength - done, this.written + done);
      if (bytesWritten === 0) throw new Error("nothing was written");
      done += bytesWritten;
    }
  }

  /** Cuts off what was not written completely, so that the file ends with a whole frame. */
  private async giveUp(): Promise<void> {
    const before = this.stopped;
    this.stopped ??= "disk";
    this.waiting = [];
    this.waitingBytes = 0;
    this.end = this.written;
    await this.file.truncate(this.written).catch(() => {});
    if (!before) this.onStop("disk");
    this.callDrained();
  }

  private callDrained(): void {
    if (this.isBehind) return;
    const calls = [...this.drained];
    this.drained.clear();
    for (const call of calls) call();
  }
}

/** Longest piece of a body in one frame. */
const PIECE_BYTES = 128 << 10;
/** Buffers of a body that are held: a peer that sends byte by byte must not make one of each. */
const MOST_HELD = 256;

/** Collects the content of a body that comes in pieces, and appends it in frames of a good size. */
export class BodyWriter {
  private readonly writer: RecordingWriter;
  private readonly pieces: (readonly [number, number])[] = [];
  private held: Buffer[] = [];
  private heldBytes = 0;
  private bytes = 0;

  constructor(writer: RecordingWriter) {
    this.writer = writer;
  }

  /** Copies the bytes. */
  push(content: Uint8Array): void {
    if (content.byteLength === 0 || !this.writer.takes) return;
    for (let from = 0; from < content.byteLength; ) {
      const part = content.subarray(from, from + PIECE_BYTES - this.heldBytes);
      this.held.push(Buffer.from(part));
      this.heldBytes += part.byteLength;
      from += part.byteLength;
      if (this.heldBytes >= PIECE_BYTES) this.put();
      else if (this.held.length >= MOST_HELD) this.held = [Buffer.concat(this.held)];
    }
  }

  /** What was written; undefined when not all of it was. */
  end(): RecordedBody | undefined {
    this.put();
    return this.writer.takes ? { bytes: this.bytes, pieces: this.pieces } : undefined;
  }

  private put(): void {
    if (this.heldBytes === 0) return;
    const place = this.writer.data(this.held.length === 1 ? (this.held[0] as Buffer) : Buffer.concat(this.held));
    if (place) this.pieces.push(place);
    this.bytes += this.heldBytes;
    this.held = [];
    this.heldBytes = 0;
  }
}
