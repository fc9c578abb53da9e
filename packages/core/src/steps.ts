import type { Cleanup } from "./cleanup.ts";

/**
 * One step of a longer deed. It registers its undo before the deed, so that a failure in the middle is undone too.
 * Steps never import each other; the ordered list of them tells the story.
 */
export interface Step<C> {
  readonly name: string;
  run(ctx: C, undo: Cleanup, signal: AbortSignal): Promise<void>;
}

export interface StepObserver {
  /** Called around every step; `durationMs` is set when the step has ended. */
  onStep?(event: { name: string; durationMs: number; error?: unknown }): void;
  /** A fault to inject: called before each step, may throw. Tests only. */
  before?(name: string): void | Promise<void>;
  /** A fault to inject: called after each step, may throw. Tests only. */
  after?(name: string): void | Promise<void>;
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
      const startedAt = performance.now();
      try {
        await observer.before?.(step.name);
        await step.run(ctx, undo, signal);
        await observer.after?.(step.name);
      } catch (error) {
        observer.onStep?.({ name: step.name, durationMs: performance.now() - startedAt, error });
        throw error;
      }
      observer.onStep?.({ name: step.name, durationMs: performance.now() - startedAt });
    }
  } catch (error) {
    await undo.run();
    throw error;
  }
}
