import { type FileHandle, open } from "node:fs/promises";
import { type RecordedExchange, RecordingWriter, readBody, readExchange, readRecording, type StopReason } from "@boxyard/driver/recordings";
import { RecordingIndex, type Wish } from "./recording-index.ts";

export interface RecordingBounds {
  readonly maxBytes: number;
  readonly maxExchanges: number;
}

/** An answer that is read from the disk while it is sent. */
export interface Played {
  readonly exchange: RecordedExchange;
  readonly body: AsyncGenerator<Buffer>;
}

/** The file of a recording: opened once, for all sandboxes that use it. */
export class OpenRecording {
  /** Resolves when the file was read through, or could not be. */
  readonly ready: Promise<void>;
  /** Set once the file was read through, and there is something to write. */
  writer: RecordingWriter | undefined;
  isReady = false;
  private readonly index = new RecordingIndex();
  private readonly bounds: RecordingBounds;
  private readonly onStop: (reason: StopReason) => void;
  private file: FileHandle | undefined;
  private end = 0;
  private writes = false;
  /** Answers that are being read. */
  private reading = 0;
  private isClosing = false;

  /** `onStop` is called when something is missing from now on. */
  constructor(path: string, bounds: RecordingBounds, onStop: (reason: StopReason) => void) {
    this.bounds = bounds;
    this.onStop = onStop;
    this.ready = this.open(path);
  }

  /** Some sandbox's exchanges are kept here from now on. */
  async write(): Promise<void> {
    this.writes = true;
    await this.ready;
    const { file, index } = this;
    if (this.writer || this.isClosing) return;
    if (!file) {
      this.onStop("disk");
      return;
    }
    try {
      // A part of a frame that a killed process has left.
      await file.truncate(this.end);
    } catch {
      this.onStop("disk");
      return;
    }
    this.writer ??= new RecordingWriter(file, { ...this.bounds, end: this.end, exchanges: index.count }, this.onStop);
  }

  /** An exchange was written: it can be an answer from now on. */
  readonly added = (exchange: RecordedExchange, at: number, length: number): void => {
    // The writer bounds how many there are.
    this.index.add(exchange, at, length);
  };

  /** Something of a sandbox was not kept, because the file was not read through in time. */
  missed(): void {
    this.onStop("disk");
  }

  /** The answer to a request that is asked for the `turn`th time. Call `done` when it was sent, or will not be. */
  async find(wish: Wish, turn: number): Promise<Played | undefined> {
    await this.ready;
    const place = this.index.find(wish, turn);
    const { file } = this;
    if (!place || !file || this.isClosing) return undefined;
    this.reading += 1;
    const exchange = await readExchange(file, place.at, place.length).catch(() => undefined);
    const isSame = exchange?.method === wish.method && exchange.url === wish.url && exchange.digest === wish.digest;
    if (isSame) return { exchange, body: readBody(file, exchange.answer) };
    this.done();
    return undefined;
  }

  done(): void {
    this.reading -= 1;
    if (this.isClosing && this.reading === 0) void this.file?.close();
  }

  /** Writes what is accepted, and closes the file once nobody reads it. */
  async close(): Promise<void> {
    this.isClosing = true;
    await this.ready;
    await this.writer?.flush();
    if (this.reading === 0) await this.file?.close();
  }

  private async open(path: string): Promise<void> {
    try {
      this.file = await open(path, "r+");
      const reading = readRecording(this.file);
      for (;;) {
        const { done, value } = await reading.next();
        if (done) {
          this.end = value.end;
          break;
        }
        // More than the bounds allow is not held in memory: they may have been larger when the recording was made.
        if (value.kind === "exchange" && this.index.count < this.bounds.maxExchanges)
          this.index.add(value.exchange, value.at, value.length);
      }
    } catch {
      // No answers, and nothing is kept.
      if (this.writes) this.onStop("disk");
    }
    this.isReady = true;
  }
}
