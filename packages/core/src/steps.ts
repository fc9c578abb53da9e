import type { Cleanup } from "./cleanup.ts";

/**
 * One step of a longer deed. It registers its undo before the deed, so that a failure in the middle is undone too.
 * Steps never import each other; the ordered list of them tells the story.
 */
export interface Step<C> {
  readonly name: string;
  run(ctx: C, undo: Cleanup, signal: AbortSignal): Promise<void>;
}

/** Milliseconds of CPU, by the party that used them: readings of counters that only grow, or the difference of two. */
export type CpuMs = Readonly<Record<string, number>>;

export interface StepEvent {
  readonly name: string;
  /** Wall time of its begin, milliseconds since 1970, with fractions. */
  readonly startedAt: number;
  readonly durationMs: number;
  /** CPU time while it ran, if the observer has a meter; other work at the same time counts too. */
  readonly cpuMs?: CpuMs;
  readonly error?: unknown;
}

export interface StepObserver {
  /** Called when a step has ended. */
  onStep?(event: StepEvent): void;
  /** Read before and after each step, for a trace. */
  meter?(): CpuMs;
  /** A fault to inject: called before each step, may throw. `signal`: the signal of the steps, where they have one. Tests only. */
  before?(name: string, signal?: AbortSignal): void | Promise<void>;
  /** A fault to inject: called after each step, may throw. Tests only. */
  after?(name: string, signal?: AbortSignal): void | Promise<void>;
  /** A fault to inject: called before each undo action, may throw. Tests only. */
  undo?(name: string): void | Promise<void>;
}

/**
 * Runs `steps` in order. At the first failure (or abort) it runs the undo stack, the failing step's own entry included, and rethrows the
 * first cause. On success the undo stack is left to the caller, who disarms it when the whole deed is done.
 */
export async function runSteps<C>(
  steps: readonly Step<C>[],
  ctx: C,
  undo: Cleanup,
  signal: AbortSignal,
  observer: StepObserver = {},
): Promise<void> {
  try {
    for (const step of steps) {
      signal.throwIfAborted();
      const ended = begin(step.name, observer);
      try {
        await observer.before?.(step.name, signal);
        await step.run(ctx, undo, signal);
        await observer.after?.(step.name, signal);
      } catch (error) {
        ended(error);
        throw error;
      }
      ended();
    }
  } catch (error) {
    await undo.run();
    throw error;
  }
}

/** Starts the measurement of a step; the returned function ends it. */
function begin(name: string, observer: StepObserver): (error?: unknown) => void {
  const before = observer.meter?.();
  const startedAt = performance.now();
  return (error) => {
    const durationMs = performance.now() - startedAt;
    const after = observer.meter?.();
    observer.onStep?.({
      name,
      startedAt: performance.timeOrigin + startedAt,
      durationMs,
      ...(before && after && { cpuMs: used(before, after) }),
      ...(error !== undefined && { error }),
    });
  };
}

/** What was used between two readings. */
export function used(before: CpuMs, after: CpuMs): CpuMs {
  return Object.fromEntries(Object.entries(after).map(([who, ms]) => [who, ms - (before[who] ?? 0)]));
}
