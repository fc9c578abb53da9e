import { writeSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { errnoOf } from "../sys/errno-of.ts";
import { closeQuietly, widenPipe } from "../sys/native.ts";
import { pause } from "../timers.ts";

/**
 * The input of a process. Writes happen in order; each resolves when the pipe or terminal has taken its bytes. Waiting bytes are bounded. A client
 * that waits for each answer before it sends more is slowed down to the pace of the process.
 *
 * It calls write(2) itself. The runtime's sink would make a terminal blocking, so that a program which does not read would stop the agent; of a
 * pipe the sink keeps a second descriptor, which stays open while the pipe is full.
 */
export class InputQueue {
  private readonly fd: number;
  private tail: Promise<unknown> = Promise.resolve();
  private pendingBytes = 0;
  private isClosed = false;
  private isDiscarded = false;
  private isWidened = false;
  /** Set after a failed write: the process has closed its side. */
  private failure: AppError | undefined;

  /** Takes ownership of the descriptor, which must be non-blocking. */
  constructor(fd: number) {
    this.fd = fd;
  }

  /** Rejects with `internal`, the contract's code, when the queue is closed or the process has closed its side; with `resource_exhausted` above the bound. */
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

  /** Closes after the earlier writes. Repeatable. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    void this.tail.then(() => this.discard());
  }

  /** Closes at once, and rejects waiting writes, also where a process that the command left running could still read them. Repeatable. */
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

  /** Waits before the next attempt: a few turns of the event loop, then longer and longer, for a program that does not read. */
  private room(idleTurns: number): Promise<void> {
    if (!this.isWidened) {
      this.isWidened = true;
      widenPipe(this.fd, PIPE_BYTES);
    }
    if (idleTurns < EAGER_TURNS) return new Promise((resolve) => setImmediate(resolve));
    return pause(Math.min(2 ** (idleTurns - EAGER_TURNS), LONGEST_PAUSE_MS));
  }
}

export function closedError(): AppError {
  return new AppError("internal", "the process was started without input, or its input is closed", { reason: "input_closed" });
}

const EAGER_TURNS = 4;
const LONGEST_PAUSE_MS = 20;

/** Size of the pipe: large enough for a program to read at full speed between two attempts. Also the most bytes of one write, which blocks the agent. */
const PIPE_BYTES = 256 * 1024;

/** Writes to the descriptor; returns how many bytes it took, 0 when it is full. */
function writeSome(fd: number, bytes: Uint8Array, offset: number): number {
  try {
    return writeSync(fd, bytes, offset, Math.min(bytes.length - offset, PIPE_BYTES));
  } catch (error) {
    if (errnoOf(error) === "EAGAIN") return 0;
    throw error;
  }
}
