/** Lets only so many pieces of work run at once; others wait for their turn, in order. */
export class Gate {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(places: number) {
    this.free = places;
  }

  /** Rejects with the signal's reason when it aborts before the work has begun. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.enter(signal);
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.free++;
    }
  }

  private async enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.free > 0) {
      this.free--;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      this.waiting.splice(this.waiting.indexOf(resolve), 1);
      reject(signal.reason);
    };
    this.waiting.push(resolve);
    signal.addEventListener("abort", leave, { once: true });
    // Once let in, the abort is the work's own business.
    await promise.finally(() => signal.removeEventListener("abort", leave));
  }
}
