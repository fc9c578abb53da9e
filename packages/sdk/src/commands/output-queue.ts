import type { CommandOutput } from "./process-events.ts";

/** How much output may wait for one reader before the stream is paused. */
const HIGH_WATER_BYTES = 1 << 20;

/** Output waiting for one `for await` loop. A slow reader pauses the stream, so that memory does not fill. */
export class OutputQueue implements AsyncIterableIterator<CommandOutput> {
  private readonly waiting: CommandOutput[] = [];
  private bytes = 0;
  private ended = false;
  private error: { readonly cause: unknown } | undefined;
  private wakeReader: (() => void) | undefined;
  private wakeWriter: (() => void) | undefined;
  private readonly onReturn: (queue: OutputQueue) => void;

  constructor(onReturn: (queue: OutputQueue) => void) {
    this.onReturn = onReturn;
  }

  /** Adds a piece; the promise, if any, resolves when there is room for the next. */
  push(output: CommandOutput): Promise<void> | undefined {
    if (this.ended) return undefined;
    this.waiting.push(output);
    this.bytes += output.data.byteLength;
    this.wakeReader?.();
    if (this.bytes < HIGH_WATER_BYTES) return undefined;
    return new Promise((resolve) => {
      this.wakeWriter = resolve;
    });
  }

  /** Nothing more comes. With an error, the reader gets it after what is waiting. */
  end(error?: { readonly cause: unknown }): void {
    this.ended = true;
    this.error = error;
    this.wakeReader?.();
    this.wakeWriter?.();
  }

  async next(): Promise<IteratorResult<CommandOutput, undefined>> {
    for (;;) {
      const output = this.waiting.shift();
      if (output) {
        this.bytes -= output.data.byteLength;
        if (this.bytes < HIGH_WATER_BYTES) this.wakeWriter?.();
        return { done: false, value: output };
      }
      if (this.error) throw this.error.cause;
      if (this.ended) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.wakeReader = resolve;
      });
    }
  }

  async return(): Promise<IteratorResult<CommandOutput, undefined>> {
    this.waiting.length = 0;
    this.end();
    this.onReturn(this);
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
