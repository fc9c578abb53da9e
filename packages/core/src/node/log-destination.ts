import { mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { LogRotation, type RotationOptions } from "./log-rotation.ts";

const STDERR = 2;
const EAGAIN_TRIES = 50;
const EAGAIN_PAUSE_MS = 2;

export interface LogPlace {
  readonly file?: string | undefined;
  /** An open file, when `file` is not set; standard error by default. */
  readonly fd?: number;
  readonly rotation?: Omit<RotationOptions, "fd"> | undefined;
}

/**
 * Writes the lines of a log to a file or to standard error, synchronously. `write` never throws, because a log must not end its program: lines that cannot
 * be written (a full disk, a closed pipe) are dropped and counted, and the count is written as soon as a line can be written again.
 */
export class LogDestination {
  private readonly fd: number;
  private readonly writeTo: typeof writeSync;
  /** Lines dropped since the last that was written. */
  private dropped = 0;
  private cause = "";

  private readonly rotation: LogRotation | undefined;

  constructor({ file, fd = STDERR, rotation }: LogPlace = {}, writeTo: typeof writeSync = writeSync) {
    this.writeTo = writeTo;
    if (file !== undefined) mkdirSync(dirname(file), { recursive: true });
    this.fd = file === undefined ? fd : openSync(file, "a", 0o600);
    this.rotation = rotation && new LogRotation({ ...rotation, fd: this.fd });
  }

  write(line: string): void {
    try {
      if (this.dropped > 0) this.writeAll(this.droppedLine());
      this.dropped = 0;
      this.writeAll(line);
      this.rotation?.wrote(line.length);
    } catch (error) {
      this.dropped++;
      this.cause = (error as { code?: string }).code ?? "unknown";
    }
  }

  private droppedLine(): string {
    const time = new Date().toISOString();
    return `${JSON.stringify({ level: 40, time, dropped: this.dropped, cause: this.cause, msg: "lines of this log were dropped" })}\n`;
  }

  private writeAll(text: string): void {
    const bytes = Buffer.from(text);
    let tries = 0;
    for (let written = 0; written < bytes.length; ) {
      try {
        written += this.writeTo(this.fd, bytes, written, bytes.length - written);
      } catch (error) {
        // A pipe whose reader is slow. The wait is bounded, for a reader that never reads.
        if ((error as { code?: string }).code !== "EAGAIN" || ++tries > EAGAIN_TRIES) throw error;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EAGAIN_PAUSE_MS);
      }
    }
  }
}
