import { type FileHandle, open } from "node:fs/promises";
import {
  FIRST_LINE,
  type IncompleteReason,
  type RecordedExchange,
  RecordingWriter,
  readBody,
  readExchange,
  readRecording,
} from "@boxyard/driver/recordings";
import { RecordingIndex, type Wish } from "./recording-index.ts";

export interface RecordingBounds {
  readonly maxBytes: number;
  readonly maxExchanges: number;
  readonly hasRoom?: (bytes: number) => Promise<boolean>;
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
  private readonly index = new RecordingIndex();
  private readonly bounds: RecordingBounds;
  private readonly onStop: (reason: IncompleteReason) => void;
  private file: FileHandle | undefined;
  private end = 0;
  private beginning: Promise<void> | undefined;
  /** Answers that are being read. */
  private reading = 0;
  private isClosing = false;
  /** Nothing more is written. */
  private isWritten = false;

  /** `onStop` is called when something is missing from now on. The file is opened `after`, when nobody else writes to it any more. */
  constructor(path: string, bounds: RecordingBounds, onStop: (reason: IncompleteReason) => void, after: Promise<void> = Promise.resolve()) {
    this.bounds = bounds;
    this.onStop = onStop;
    this.ready = after.then(() => this.open(path));
  }

  /** Some sandbox's exchanges are kept here from now on. */
  write(): Promise<void> {
    // Once for all sandboxes: a second cut could take away what the writer has written meanwhile.
    this.beginning ??= this.begin();
    return this.beginning;
  }

  private async begin(): Promise<void> {
    await this.ready;
    const { file, index } = this;
    if (this.isClosing) return;
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
    this.writer = new RecordingWriter(file, { ...this.bounds, end: this.end, exchanges: index.count }, this.onStop);
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

  /** Something of a sandbox passed that no recording keeps. */
  passedUnkept(): void {
    this.onStop("protocol");
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
    void this.closeUnread().catch(() => {});
  }

  /** Writes what is accepted, and closes the file once nobody reads it. Exchanges that go on are not kept. */
  async close(): Promise<void> {
    this.isClosing = true;
    await this.ready;
    await this.beginning;
    await this.writer?.close();
    this.isWritten = true;
    await this.closeUnread();
  }

  private async closeUnread(): Promise<void> {
    if (this.isWritten && this.reading === 0) await this.file?.close();
  }

  private async open(path: string): Promise<void> {
    let file: FileHandle | undefined;
    try {
      file = await open(path, "r+");
      this.end = await this.readThrough(file);
      this.file = file;
    } catch {
      // No answers, and nothing is kept: to write behind a part that could be read would cut off the rest.
      await file?.close().catch(() => {});
    }
  }

  /** Returns where the last whole frame ends. Throws for a file that cannot be read, or is another one. */
  private async readThrough(file: FileHandle): Promise<number> {
    const reading = readRecording(file);
    for (;;) {
      const { done, value } = await reading.next();
      if (!done) {
        // More than the bounds allow is not held in memory: they may have been larger when the recording was made.
        if (value.kind === "exchange" && this.index.count < this.bounds.maxExchanges)
          this.index.add(value.exchange, value.at, value.length);
      } else if (value.end === 0 && (await file.stat()).size >= FIRST_LINE.byteLength) throw new Error("this is no recording");
      else return value.end;
    }
  }
}
