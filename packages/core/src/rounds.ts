import type { Clock } from "./clock.ts";
import { within } from "./within.ts";

export interface RoundsOptions {
  readonly clock: Clock;
  /** Milliseconds between the end of a round and the next. */
  readonly everyMs: number;
  /** The first round comes at once; by default after `everyMs`. */
  readonly isFirstAtOnce?: boolean;
  /** Called with the error of a failed round; the next round runs anyway. */
  onError(error: unknown): void;
}

/** How long `stop` waits for the round that is under way. */
const STOP_MS = 5000;

/** Does something again and again, one round at a time, from `start` until `stop`. */
export class Rounds {
  private readonly round: (signal: AbortSignal) => Promise<void>;
  private readonly options: RoundsOptions;
  private readonly stopping = new AbortController();
  private loop: Promise<void> | undefined;

  constructor(round: (signal: AbortSignal) => Promise<void>, options: RoundsOptions) {
    this.round = round;
    this.options = options;
  }

  /** Aborts when `stop` is called; for work outside the rounds too. */
  get signal(): AbortSignal {
    return this.stopping.signal;
  }

  /** Repeatable. */
  start(): void {
    this.loop ??= this.run();
  }

  /** Resolves when the round that is under way has ended, or after five seconds: a round that hangs keeps nobody from ending. Repeatable. */
  async stop(): Promise<void> {
    this.stopping.abort();
    const late = () => new Error("The round goes on");
    await within(this.loop ?? Promise.resolve(), STOP_MS, late, this.options.clock).catch(() => {});
  }

  private async run(): Promise<void> {
    const { clock, everyMs, isFirstAtOnce, onError } = this.options;
    if (isFirstAtOnce) await this.round(this.signal).catch(onError);
    while (!this.signal.aborted) {
      await clock.sleep(everyMs, this.signal).catch(() => {});
      if (!this.signal.aborted) await this.round(this.signal).catch(onError);
    }
  }
}
