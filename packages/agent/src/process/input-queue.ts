import { writeSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { closeQuietly } from "../sys/native.ts";

/** The way into a process. `write` resolves when the process's side has taken all of it. */
interface InputPort {
  write(bytes: Uint8Array): Promise<void>;
  /** Gives up a write that waits, where nobody is there any more to take it. */
  abort(): void;
  /** Called once, after the last write. */
  close(): Promise<void>;
}

/**
 * What goes into a process: written in order, each write resolves when the process's side of the pipe or terminal has taken it. What waits
 * is bounded; a sender who waits for the answer before the next message is slowed down to the pace of the reader.
 */
export class InputQueue {
  private readonly port: InputPort;
  private tail: Promise<unknown> = Promise.resolve();
  private pendingBytes = 0;
  private isClosed = false;
  /** The process's side is gone. The runtime's sink tells it once and takes everything after that. */
  private failure: AppError | undefined;

  private constructor(port: InputPort) {
    this.port = port;
  }

  static toPipe(fd: number): InputQueue {
    return new InputQueue(new PipePort(fd));
  }

  static toTerminal(fd: number): InputQueue {
    return new InputQueue(new TerminalPort(fd));
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
    void this.tail.then(() => this.port.close()).catch(() => {});
  }

  /** As `close`, but what waits is given up: the process has ended. */
  discard(): void {
    this.port.abort();
    this.close();
  }

  private async put(bytes: Uint8Array): Promise<void> {
    try {
      if (this.failure) throw this.failure;
      await this.port.write(bytes);
    } catch (error) {
      this.failure ??= new AppError("internal", "the process has closed its input", { reason: "input_closed", cause: error });
      throw this.failure;
    } finally {
      this.pendingBytes -= bytes.length;
    }
  }
}

export function closedError(): AppError {
  return new AppError("internal", "the process was started without input, or its input is closed", { reason: "input_closed" });
}

/** What a pipe takes at once, by default. */
const SINK_BYTES = 64 * 1024;

class PipePort implements InputPort {
  private readonly fd: number;
  private readonly sink: Bun.FileSink;

  constructor(fd: number) {
    this.fd = fd;
    this.sink = Bun.file(fd).writer({ highWaterMark: 1 });
  }

  /** Bit by bit: the sink copies what it can't pass on at once. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += SINK_BYTES) {
      const pending = this.sink.write(bytes.subarray(at, at + SINK_BYTES));
      await this.sink.flush();
      await pending;
    }
  }

  /** Nothing to do: the write fails by itself when the last reader of the pipe has gone. */
  abort(): void {}

  async close(): Promise<void> {
    // The sink has a copy of the descriptor; the process sees the end when both are closed.
    await Promise.resolve(this.sink.end()).catch(() => {});
    closeQuietly(this.fd);
  }
}

const FIRST_RETRY_MS = 1;
const LAST_RETRY_MS = 20;

/**
 * Writes to a terminal directly. The runtime's own sink makes the terminal blocking, so that a program which does not read would stop the
 * agent; what a terminal takes at once is small, so asking again now and then is enough.
 */
class TerminalPort implements InputPort {
  private readonly fd: number;
  private isAborted = false;

  constructor(fd: number) {
    this.fd = fd;
  }

  async write(bytes: Uint8Array): Promise<void> {
    let retryMs = FIRST_RETRY_MS;
    for (let offset = 0; offset < bytes.length; ) {
      if (this.isAborted) throw closedError();
      const written = writeSome(this.fd, bytes, offset);
      offset += written;
      retryMs = written > 0 ? FIRST_RETRY_MS : Math.min(retryMs * 2, LAST_RETRY_MS);
      if (offset < bytes.length) await Bun.sleep(retryMs);
    }
  }

  abort(): void {
    this.isAborted = true;
  }

  async close(): Promise<void> {
    closeQuietly(this.fd);
  }
}

/** How many bytes the descriptor took; 0 when it takes none now. */
function writeSome(fd: number, bytes: Uint8Array, offset: number): number {
  try {
    return writeSync(fd, bytes, offset);
  } catch (error) {
    if ((error as { code?: string }).code === "EAGAIN") return 0;
    throw error;
  }
}
