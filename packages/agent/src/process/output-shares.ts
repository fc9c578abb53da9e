import { LIMITS } from "../limits.ts";

/** Memory that the output of one command may take. Asked for anew at each use: it changes with the number of commands. */
export interface OutputBounds {
  /** What its log holds for replay. */
  readonly logBytes: number;
  /** How far a reader may lag behind a quicker one. */
  readonly behindBytes: number;
}

/** The bounds of a command that has no others beside it. */
export const ALONE: OutputBounds = { logBytes: LIMITS.outputLogBytes, behindBytes: LIMITS.readerBehindBytes };

/** What the outputs of all running commands may take together, shared out evenly: with very many of them each gets less. */
export class OutputShares implements OutputBounds {
  private count = 0;

  get logBytes(): number {
    return this.share(LIMITS.outputLogBytes, LIMITS.outputLogLeast, LIMITS.outputLogsBytes);
  }

  get behindBytes(): number {
    return this.share(LIMITS.readerBehindBytes, LIMITS.readerBehindLeast, LIMITS.readersBehindBytes);
  }

  /** One command more. Returns how to end its share; repeatable. */
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
