import { LIMITS } from "../limits.ts";

/** Bounds in bytes on the output of one command. Read them at each use: they change with the number of running commands. */
export interface OutputBounds {
  /** Size of its log. */
  readonly logBytes: number;
  /** How far a reader may be behind a quicker one. */
  readonly behindBytes: number;
  /** Called for each piece of output. */
  wrote?(now: number): void;
}

/** The bounds of a single command. */
export const ALONE: OutputBounds = { logBytes: LIMITS.outputLogBytes, behindBytes: LIMITS.readerBehindBytes };

/** Bounds for the outputs of all running commands, which share totals evenly. */
export class OutputShares implements OutputBounds {
  private count = 0;
  /** Wall time in milliseconds of the last output of any command; undefined before the first. */
  lastOutputAt: number | undefined;

  wrote(now: number): void {
    this.lastOutputAt = now;
  }

  get logBytes(): number {
    return this.share(LIMITS.outputLogBytes, LIMITS.outputLogLeast, LIMITS.outputLogsBytes);
  }

  get behindBytes(): number {
    return this.share(LIMITS.readerBehindBytes, LIMITS.readerBehindLeast, LIMITS.readersBehindBytes);
  }

  /** Adds a command. Returns a function that removes it, which is repeatable. */
  enter(): () => void {
    this.count++;
    let isIn = true;
    return () => {
      if (isIn) this.count--;
      isIn = false;
    };
  }

  private share(most: number, least: number, all: number): number {
    return Math.min(most, Math.max(least, Math.floor(all / Math.max(1, this.count))));
  }
}
