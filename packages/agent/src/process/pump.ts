import type { Clock } from "@boxyard/core";
import { closeQuietly, hasPending } from "../sys/native.ts";
import type { OutputKind } from "./output-log.ts";

export interface PumpTarget {
  /** Resolves when more may be read. */
  room(): Promise<void>;
  append(kind: OutputKind, bytes: Uint8Array): void;
}

/** Reads one descriptor to its end into a target, at the target's pace. */
export class Pump {
  /** Since when it waits for the program to write; undefined while it waits for room, or after the end. */
  waitingSince: number | undefined;
  readonly done: Promise<void>;
  private isAtEnd = false;
  private readonly fd: number;
  private readonly clock: Clock;

  constructor(fd: number, kind: OutputKind, target: PumpTarget, clock: Clock) {
    this.fd = fd;
    this.clock = clock;
    this.done = this.run(fd, kind, target);
  }

  get atEnd(): boolean {
    return this.isAtEnd;
  }

  /** Whether there is something that has not come through yet: on a starved machine a timer may be served before it. */
  get isBehind(): boolean {
    return !this.isAtEnd && hasPending(this.fd);
  }

  private async run(fd: number, kind: OutputKind, target: PumpTarget): Promise<void> {
    const reader = Bun.file(fd).stream().getReader();
    try {
      for (;;) {
        await target.room();
        this.waitingSince = this.clock.monotonic();
        const { done, value } = await reader.read();
        if (done) return;
        this.waitingSince = undefined;
        target.append(kind, value);
      }
    } catch {
      // A terminal whose program side is closed by everyone gives EIO: that is its end.
    } finally {
      this.waitingSince = undefined;
      this.isAtEnd = true;
      closeQuietly(fd);
    }
  }
}
