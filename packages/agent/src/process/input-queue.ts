import { AppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { closeQuietly } from "../sys/native.ts";

/**
 * What goes into a process: written in order, each write resolves when the process's side of the pipe or terminal has taken it. What waits
 * is bounded; a sender who waits for the answer before the next message is slowed down to the pace of the reader.
 */
export class InputQueue {
  private readonly fd: number;
  private readonly sink: Bun.FileSink;
  private tail: Promise<unknown> = Promise.resolve();
  private pendingBytes = 0;
  private isClosed = false;

  constructor(fd: number) {
    this.fd = fd;
    this.sink = Bun.file(fd).writer({ highWaterMark: 1 });
  }

  get closed(): boolean {
    return this.isClosed;
  }

  /** Throws `internal` when it is closed, as the contract says, or when the process has closed its side; `resource_exhausted` above the bound. */
  write(bytes: Uint8Array): Promise<void> {
    if (this.isClosed) return Promise.reject(closedError());
    if (bytes.length === 0) return Promise.resolve();
    if (this.pendingBytes + bytes.length > LIMITS.pendingInputBytes) {
      const message = "the process does not read its input, and no more of it can wait";
      return Promise.reject(new AppError("resource_exhausted", message, { reason: "input_full" }));
    }
    this.pendingBytes += bytes.length;
    const written = this.tail.then(() => this.put(bytes));
    this.tail = written.catch(() => {});
    return written;
  }

  /** Closes after what was written before has gone. Repeatable. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    // The sink first: it may still have the descriptor's number registered with the event loop.
    void this.tail
      .then(() => this.sink.end())
      .catch(() => {})
      .then(() => closeQuietly(this.fd));
  }

  private async put(bytes: Uint8Array): Promise<void> {
    try {
      const pending = this.sink.write(bytes);
      await this.sink.flush();
      await pending;
    } catch (error) {
      throw new AppError("internal", "the process has closed its input", { reason: "input_closed", cause: error });
    } finally {
      this.pendingBytes -= bytes.length;
    }
  }
}

export function closedError(): AppError {
  return new AppError("internal", "the process was started without input, or its input is closed", { reason: "input_closed" });
}
