import type { Cleanup } from "./cleanup.ts";
import type { Clock } from "./clock.ts";

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

/** How long `runSteps` waits for a step that goes on after the abort. Without a patience it waits until the step ends. */
export interface Patience {
  readonly clock: Clock;
  /** Milliseconds that a step may go on after the abort, and that the undo actions may take after that. */
  readonly graceMs: number;
  /** Called when a step is given up, before the undo actions run. */
  onGivenUp(step: GivenUp): void;
}

/** A step that did not end in time after the abort. What it does still happens, so the caller keeps other work away until it has ended. */
export interface GivenUp {
  readonly name: string;
  /** Resolves when the step ends after all, with its error if it failed. Never rejects. */
  readonly ended: Promise<unknown>;
  /** To be called after that: runs the undo actions of the step again, because the step may have acted after the first time. */
  undoAgain(): Promise<void>;
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
  patience?: Patience,
): Promise<void> {
  using limit = patience && new Limit(signal, patience);
  let givenUp = false;
  try {
    for (const step of steps) {
      signal.throwIfAborted();
      const before = undo.size;
      const work = observed(step, ctx, undo, signal, observer);
      if (!limit || !patience || !(await limit.isPassedBefore(work))) {
        await work;
        continue;
      }
      givenUp = true;
      const own = undo.copyAfter(before);
      const undoAgain = async () => {
        // What the step has registered since, and what it had registered before.
        await undo.run();
        await own.run();
      };
      patience.onGivenUp({ name: step.name, ended: errorOf(work), undoAgain });
      signal.throwIfAborted();
    }
  } catch (error) {
    const undone = undo.run();
    await (givenUp && patience ? atMost(undone, patience) : undone);
    throw error;
  }
}

/** One step with its observers and its measurement. */
async function observed<C>(step: Step<C>, ctx: C, undo: Cleanup, signal: AbortSignal, observer: StepObserver): Promise<void> {
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

/** Waits for the undo actions; not for ones that hang too. */
async function atMost(undone: Promise<void>, { clock, graceMs }: Patience): Promise<void> {
  const done = new AbortController();
  await Promise.race([undone, clock.sleep(graceMs, done.signal).catch(() => {})]);
  done.abort();
}

const errorOf = (work: Promise<void>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

/** The end of the time that steps have after the abort of their signal. */
class Limit implements Disposable {
  private readonly passed = Promise.withResolvers<true>();
  private readonly done = new AbortController();

  constructor(signal: AbortSignal, { clock, graceMs }: Patience) {
    const wait = () =>
      void clock.sleep(graceMs, this.done.signal).then(
        () => this.passed.resolve(true),
        () => {},
      );
    if (signal.aborted) wait();
    else signal.addEventListener("abort", wait, { once: true, signal: this.done.signal });
  }

  /** True if the time ends before the work does. Never rejects. */
  isPassedBefore(work: Promise<void>): Promise<boolean> {
    return Promise.race([errorOf(work).then(() => false), this.passed.promise]);
  }

  [Symbol.dispose](): void {
    this.done.abort();
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

/** Runs `work` as a named point, so that tests can inject faults before and after it. */
export async function atPoint<T>(observer: StepObserver | undefined, point: string, work: () => Promise<T>): Promise<T> {
  await observer?.before?.(point);
  const result = await work();
  await observer?.after?.(point);
  return result;
}
