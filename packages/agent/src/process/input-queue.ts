import { writeSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { errnoOf } from "../sys/errno-of.ts";
import { closeQuietly, widenPipe } from "../sys/native.ts";

/**
 * What goes into a process: written in order, each write resolves when the process's side of the pipe or terminal has taken it. What waits
 * is bounded; a sender who waits for the answer before the next message is slowed down to the pace of the reader.
 *
 * It writes to the descriptor itself. The runtime's sink makes a terminal blocking, so that a program which does not read would stop the
 * agent; of a pipe it keeps a copy that nothing closes while the pipe is full.
 */
export class InputQueue {
  private readonly fd: number;
  private tail: Promise<unknown> = Promise.resolve();
  private pendingBytes = 0;
  private isClosed = false;
  private isDiscarded = false;
  private isWidened = false;
  /** The process's side is gone. */
  private failure: AppError | undefined;

  /** Takes over the descriptor, which must not block. */
  constructor(fd: number) {
    this.fd = fd;
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
    void this.tail.then(() => this.discard());
  }

  /** Closes at once; what waits is given up, also where something that the process left running could still take it. Repeatable. */
  discard(): void {
    if (this.isDiscarded) return;
    this.isClosed = true;
    this.isDiscarded = true;
    closeQuietly(this.fd);
  }

  private async put(bytes: Uint8Array): Promise<void> {
    try {
      if (this.failure) throw this.failure;
      let idleTurns = 0;
      for (let offset = 0; offset < bytes.length; ) {
        if (this.isDiscarded) throw closedError();
        const written = writeSome(this.fd, bytes, offset);
        offset += written;
        idleTurns = written > 0 ? 0 : idleTurns + 1;
        if (offset < bytes.length) await this.room(idleTurns);
      }
    } catch (error) {
      this.failure ??= new AppError("internal", "the process has closed its input", { reason: "input_closed", cause: error });
      throw this.failure;
    } finally {
      this.pendingBytes -= bytes.length;
    }
  }

  /** A program that reads has made room in a moment; for one that does not, asking more and more rarely is enough. */
  private room(idleTurns: number): Promise<void> {
    if (!this.isWidened) {
      this.isWidened = true;
      widenPipe(this.fd, PIPE_BYTES);
    }
    if (idleTurns < EAGER_TURNS) return new Promise((resolve) => setImmediate(resolve));
    return Bun.sleep(Math.min(2 ** (idleTurns - EAGER_TURNS), LONGEST_PAUSE_MS));
  }
}

export function closedError(): AppError {
  return new AppError("internal", "the process was started without input, or its input is closed", { reason: "input_closed" });
}

const EAGER_TURNS = 4;
const LONGEST_PAUSE_MS = 20;

/** A pipe of which this much fits between two looks carries as much as a program reads. One write is no more: it must not hold the agent up. */
const PIPE_BYTES = 256 * 1024;

/** How many bytes the descriptor took; 0 when it takes none now. */
function writeSome(fd: number, bytes: Uint8Array, offset: number): number {
  try {
    return writeSync(fd, bytes, offset, Math.min(bytes.length - offset, PIPE_BYTES));
  } catch (error) {
    if (errnoOf(error) === "EAGAIN") return 0;
    throw error;
  }
}
