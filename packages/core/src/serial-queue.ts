/** Runs work in the order in which it came, one piece at a time. */
export class SerialQueue {
  private tail: Promise<unknown> = Promise.resolve();
  private pieces = 0;

  /** Pieces of work that run or wait. */
  get size(): number {
    return this.pieces;
  }

  /** Runs `work` after everything queued earlier, whether that succeeded or not. */
  run<T>(work: () => Promise<T>): Promise<T> {
    this.pieces++;
    const result = this.tail.then(work, work);
    const ended = () => void this.pieces--;
    this.tail = result.then(ended, ended);
    return result;
  }
}

/** One queue per key: work on the same key runs in order, one at a time; different keys run side by side. A key is forgotten when idle. */
export class SerialQueues<K> {
  private readonly tails = new Map<K, Promise<unknown>>();

  /** Runs `work` after everything queued earlier under `key`, whether that succeeded or not. */
  run<T>(key: K, work: () => Promise<T>): Promise<T> {
    const before = this.tails.get(key) ?? Promise.resolve();
    const result = before.then(work, work);
    const tail = result.then(
      () => undefined,
      () => undefined,
    );
    this.tails.set(key, tail);
    void tail.then(() => {
      if (this.tails.get(key) === tail) this.tails.delete(key);
    });
    return result;
  }

  /** Number of keys with work queued or running. */
  get size(): number {
    return this.tails.size;
  }
}
