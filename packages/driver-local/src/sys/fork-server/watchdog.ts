/** Interval of the checks, milliseconds. */
const LOOK_MS = 1000;
/** How many checks in a row without an answer are allowed. Checks are counted, not time, because this process may stand still itself. */
const SILENT_LOOKS = 10;

/**
 * Finds a helper that hangs (stopped, or stuck in a system call). While a caller waits, a silent helper is pinged once, and given up when it has
 * not answered anything for ten checks. Orders may take as long as they need: the helper itself never waits for them.
 */
export class Watchdog {
  private readonly ping: () => void;
  private readonly giveUp: () => void;
  private readonly everyMs: number;
  private timer: ReturnType<typeof setInterval> | undefined;
  private silentLooks = 0;

  constructor(ping: () => void, giveUp: () => void, everyMs: number = LOOK_MS) {
    this.ping = ping;
    this.giveUp = giveUp;
    this.everyMs = everyMs;
  }

  /** Starts or stops the checks. Repeatable. */
  watch(isWanted: boolean): void {
    if (isWanted === (this.timer !== undefined)) return;
    clearInterval(this.timer);
    this.timer = undefined;
    this.silentLooks = 0;
    if (isWanted) this.timer = setInterval(() => this.look(), this.everyMs);
    // The socket keeps the process from ending while a caller waits; the timer need not.
    this.timer?.unref();
  }

  /** The helper has sent an answer. */
  onAnswer(): void {
    this.silentLooks = 0;
  }

  private look(): void {
    this.silentLooks += 1;
    if (this.silentLooks === 1) this.ping();
    if (this.silentLooks <= SILENT_LOOKS) return;
    this.watch(false);
    this.giveUp();
  }
}
