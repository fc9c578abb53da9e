import { LIMITS } from "./limits.ts";

/** Splits long synchronous work: when the slice is used up, `turn` lets other requests run. */
export class TimeSlice {
  private started = performance.now();

  /** Undefined while there is time left, so that the hot loop need not wait for a promise at each step. */
  turn(): Promise<void> | undefined {
    if (performance.now() - this.started < LIMITS.sliceMs) return undefined;
    return new Promise((resolve) =>
      setImmediate(() => {
        this.started = performance.now();
        resolve();
      }),
    );
  }
}
