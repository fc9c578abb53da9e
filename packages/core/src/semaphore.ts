/** A limited number of places for work that runs at once; a caller that finds none waits, in order of arrival. */
export class Semaphore {
  private free: number;
  private readonly waiting = new Set<() => void>();

  constructor(places: number) {
    this.free = places;
  }

  /** Waits for a place, which is held until it is disposed of. Rejects with the signal's reason. */
  async enter(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.free > 0) this.free--;
    else await this.wait(signal);
    let mine = true;
    return {
      [Symbol.dispose]: () => {
        if (mine) this.leave();
        mine = false;
      },
    };
  }

  /** Does `work` in a place. Rejects with the signal's reason when it aborts before the work has begun. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    using _place = await this.enter(signal);
    return await work();
  }

  private async wait(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = () => {
      // A caller that was already given a place keeps it; its work sees the signal.
      if (this.waiting.delete(resolve)) reject(signal.reason);
    };
    this.waiting.add(resolve);
    signal.addEventListener("abort", giveUp, { once: true });
    await promise.finally(() => signal.removeEventListener("abort", giveUp));
  }

  private leave(): void {
    const [next] = this.waiting;
    if (!next) {
      this.free++;
      return;
    }
    this.waiting.delete(next);
    next();
  }
}
