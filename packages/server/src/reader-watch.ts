import { AppError, type Clock } from "@boxyard/core";

/** How long a reader may take nothing. */
export interface ReaderLimit {
  readonly clock: Clock;
  readonly ms: number;
}

/** Watches that the reader of a stream goes on asking for more: a reader that stands would hold what makes the stream for ever. */
export class ReaderWatch {
  private readonly limit: ReaderLimit;
  private readonly giveUp: (error: AppError) => void;
  private waiting = new AbortController();

  /** `giveUp` is called with `deadline_exceeded`, reason `reader_too_slow`. */
  constructor(limit: ReaderLimit, giveUp: (error: AppError) => void) {
    this.limit = limit;
    this.giveUp = giveUp;
  }

  /** From now on the reader has the time of the limit to ask for more. */
  wait(): void {
    const { clock, ms } = this.limit;
    this.waiting = new AbortController();
    const error = () =>
      new AppError("deadline_exceeded", `The reader of the archive took nothing for ${ms / 1000} s`, { reason: "reader_too_slow" });
    void clock.sleep(ms, this.waiting.signal).then(
      () => this.giveUp(error()),
      () => {},
    );
  }

  /** The reader asks for more, or has gone. */
  stop(): void {
    this.waiting.abort();
  }
}
