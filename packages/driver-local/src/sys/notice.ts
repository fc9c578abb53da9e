import { type Clock, later } from "@boxyard/core";

/** A notice that something may have changed, for one who waits for it in a loop: none is missed between two waits. */
export class Notice {
  private isGiven = false;
  private wake: (() => void) | undefined;

  readonly give = (): void => {
    this.isGiven = true;
    this.wake?.();
  };

  /** Resolves when a notice was given since the last wait, at the latest after `ms`. Throws the reason of `signal`. */
  async within(ms: number, clock: Clock, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (!this.isGiven) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.wake = resolve;
      const cancel = later(ms, resolve, clock);
      signal?.addEventListener("abort", this.give);
      try {
        await promise;
      } finally {
        signal?.removeEventListener("abort", this.give);
        this.wake = undefined;
        cancel();
      }
      signal?.throwIfAborted();
    }
    this.isGiven = false;
  }
}
