import { AppError, systemClock } from "@boxyard/core";

export interface EventuallyOptions {
  /** Milliseconds until the wait fails; 30,000 by default. */
  readonly withinMs?: number;
  /** Milliseconds between two calls of `look`; 20 by default. */
  readonly everyMs?: number;
}

type Falsy = undefined | null | false | 0 | "";

/**
 * Waits for a state, never for an event: calls `look` until it returns a truthy value, and returns that. After the deadline it throws
 * `deadline_exceeded` with `what` and, when the last call threw, that error as the cause.
 */
export async function eventually<T>(what: string, look: () => T | Falsy | Promise<T | Falsy>, options: EventuallyOptions = {}): Promise<T> {
  const withinMs = options.withinMs ?? 30_000;
  const deadline = systemClock.monotonic() + withinMs;
  for (;;) {
    let cause: unknown;
    try {
      const seen = await look();
      if (seen) return seen;
    } catch (error) {
      cause = error;
    }
    if (systemClock.monotonic() >= deadline) {
      const why = cause === undefined ? "" : `: ${cause instanceof Error ? cause.message : String(cause)}`;
      throw new AppError("deadline_exceeded", `Not within ${withinMs} ms: ${what}${why}`, { cause });
    }
    await systemClock.sleep(options.everyMs ?? 20);
  }
}

/**
 * Proves that something does not happen, which takes time: calls `look` for `forMs` milliseconds, and throws `failed_precondition` with `what` as soon
 * as `look` returns something falsy. It can miss a fault on a slow machine, and never reports one that is not there.
 */
export async function staysTrueFor(forMs: number, what: string, look: () => unknown): Promise<void> {
  const end = systemClock.monotonic() + forMs;
  for (;;) {
    if (!(await look())) throw new AppError("failed_precondition", `No longer so: ${what}`);
    if (systemClock.monotonic() >= end) return;
    await systemClock.sleep(Math.min(10, forMs));
  }
}
