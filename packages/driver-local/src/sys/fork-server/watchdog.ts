/** Between two looks, milliseconds. */
const LOOK_MS = 1000;
/** Looks in a row without a sign of life. Looks are counted, and not the time, for this process may stand still itself. */
const SILENT_LOOKS = 10;

/**
 * Finds a helper that hangs (stopped, or stuck in a call of the kernel's): while somebody waits for it, it is asked for a sign of life each second,
 * and given up after ten without one. Orders may take as long as they need: the helper itself never waits for them.
 */
export class Watchdog {
  private readonly ask: () => void;
  private readonly giveUp: () => void;
  private readonly everyMs: number;
  private timer: ReturnType<typeof setInterval> | undefined;
  private silentLooks = 0;

  constructor(ask: () => void, giveUp: () => void, everyMs: number = LOOK_MS) {
    this.ask = ask;
    this.giveUp = giveUp;
    this.everyMs = everyMs;
  }

  /** Begins to look, or ends it. Repeatable. */
  watch(isWanted: boolean): void {
    if (isWanted === (this.timer !== undefined)) return;
    clearInterval(this.timer);
    this.timer = undefined;
    this.silentLooks = 0;
    if (isWanted) this.timer = setInterval(() => this.look(), this.everyMs);
    // Who waits keeps the process from ending by the socket.
    this.timer?.unref();
  }

  /** The helper has said something. */
  heard(): void {
    this.silentLooks = 0;
  }

  private look(): void {
    this.silentLooks += 1;
    if (this.silentLooks === 1) this.ask();
    if (this.silentLooks <= SILENT_LOOKS) return;
    this.watch(false);
    this.giveUp();
  }
}
