import {
  AppError,
  Cleanup,
  type GivenUp,
  type LivingState,
  type Patience,
  runSteps,
  type SandboxId,
  type SandboxState,
  type Step,
  type StepObserver,
  TimeLimit,
  within,
} from "@boxyard/core";
import type { RunTimes } from "../../prometheus/instruments.ts";
import type { SandboxChange, TakenChange } from "../../store/index.ts";
import type { EngineNeeds, EngineParts } from "./parts.ts";
import type { Sandbox } from "./sandbox.ts";
import { type AnyTransition, INTENT, RESULT, type Settled, type Took, type Transition, type TransitionContext } from "./transition.ts";

/**
 * How long a step may go on after its transition was aborted. Steps take up to ten seconds for their own clean-up (a freeze that is undone, a program that
 * is killed), and more on a slow disk.
 */
const STEP_GRACE_MS = 60_000;

/** How a change is written: to memory or the store first. `ignoresStore`: a failure of the store is logged, and memory changes anyway. */
export interface WriteHow {
  readonly first: "memory" | "store";
  readonly ignoresStore?: boolean;
}

/** Writes a change to the store and to memory. */
export type Write = (sandbox: Sandbox, change: SandboxChange | TakenChange, how: WriteHow) => Promise<void>;

export interface RunOptions {
  readonly signal?: AbortSignal;
  /** The intent is written already, so the transition begins with its first step (the retry of a removal). */
  readonly hasIntent?: boolean;
}

/**
 * Runs one transition in its sandbox's turn: intent, steps, result. When this throws, the undo actions have run and the sandbox is in the state
 * that `onFailure` says; the removal for `remove` is the caller's.
 */
export async function runTransition<Input, Context extends TransitionContext, Output>(
  parts: EngineParts,
  sandbox: Sandbox,
  transition: Transition<Input, Context, Output>,
  input: Input,
  write: Write,
  options: RunOptions = {},
): Promise<Output> {
  const before = sandbox.record;
  const change: TransitionContext["change"] = (part) => write(sandbox, part, { first: "store" });
  const context = transition.prepare({ parts, sandbox, change }, input);
  const startedAt = parts.clock.monotonic();
  const took: Record<string, number> = {};
  const times = parts.timings?.begin(transition.name, before.owner.kind);
  const steps = [...(options.hasIntent ? [] : [intentOf(transition, write)]), ...transition.steps, resultOf(transition, write)];
  let isUndone = true;
  const undo = undoOf(parts, transition.name, sandbox.id, () => {
    isUndone = false;
  });
  const patience = patienceOf(parts, transition.name, sandbox, () => {
    isUndone = false;
  });
  using limit = transition.limitMs === undefined ? undefined : new TimeLimit(transition.limitMs, parts.clock);
  try {
    await runSteps(
      steps,
      context,
      undo,
      signalOf(transition, sandbox, options, limit),
      observerOf(parts, transition.name, took, times),
      patience,
    );
  } catch (error) {
    if (sandbox.state === transition.via && transition.onFailure === "return") {
      // If it could not be undone, the sandbox stays in `via`, as after the death of a server. The sweep gets the answer from `adopt.ts`.
      if (!isUndone) sandbox.pending = "undo";
      if (isUndone || before.state === transition.via) await settle(sandbox, transition.settled?.(context) ?? settledAs(before), write);
    }
    transition.failed?.(context, error);
    times?.end(parts.clock.monotonic() - startedAt, false);
    throw error;
  }
  undo.disarm();
  const totalMs = parts.clock.monotonic() - startedAt;
  times?.end(totalMs, true);
  transition.done?.(context, { totalMs: rounded(totalMs), steps: took } satisfies Took);
  return transition.output(context);
}

/**
 * What becomes of a step that hangs after the abort: the transition fails and gives its turn back, so that the sandbox can be removed. Nothing else is done
 * with the sandbox before the step has ended, because the step may still act: the sweep adopts it after that. `onGivenUp`: the sandbox may not be undone.
 */
function patienceOf(parts: EngineParts, name: string, sandbox: Sandbox, onGivenUp: () => void): Patience {
  const { clock, events, stepGraceMs: graceMs = STEP_GRACE_MS } = parts;
  const finish = async (step: GivenUp, error: unknown) => {
    // A step that ends after the removal may have made something anew.
    const undo = sandbox.isEnding ? parts.driver.destroy(sandbox.handle) : step.undoAgain();
    await within(undo, graceMs, undoTooLong, clock).catch((failure: unknown) => events.undoFailed(sandbox.id, name, failure));
    sandbox.stepsGivenUp -= 1;
    events.stepEndedLate(sandbox.id, `${name} ${step.name}`, error);
  };
  return {
    clock,
    graceMs,
    onGivenUp(step) {
      onGivenUp();
      sandbox.stepsGivenUp += 1;
      events.stepGivenUp(sandbox.id, `${name} ${step.name}`);
      void step.ended.then((error) => sandbox.queue.run(() => finish(step, error)));
    },
  };
}

const undoTooLong = () => new AppError("deadline_exceeded", "Undoing a step that ended late takes too long");

/** Undo actions whose failures are logged and passed to `onFailed`. */
export function undoOf(
  { events, observer }: Pick<EngineNeeds, "events" | "observer" | "timings">,
  name: string,
  about: SandboxId,
  onFailed: () => void = () => {},
): Cleanup {
  const failed = (_action: string, error: unknown) => {
    events.undoFailed(about, name, error);
    onFailed();
  };
  return new Cleanup(failed, observer?.undo && ((action) => observer.undo?.(`${name} ${action}`)));
}

function intentOf<Input, Context extends TransitionContext, Output>(
  transition: Transition<Input, Context, Output>,
  write: Write,
): Step<Context> {
  const { via, ignoresStore = false } = transition;
  return {
    name: INTENT,
    async run(context) {
      const change = { ...transition.intent?.(context), ...moveTo(context, via) };
      // The first write of a sandbox inserts its record.
      if (transition.from.length === 0 || !isEmpty(change)) await write(context.sandbox, change, { first: "memory", ignoresStore });
      transition.begun?.(context);
    },
  };
}

function resultOf<Input, Context extends TransitionContext, Output>(
  transition: Transition<Input, Context, Output>,
  write: Write,
): Step<Context> {
  return {
    name: RESULT,
    async run(context) {
      const change = { ...(transition.taken ?? transition.result)?.(context), ...moveTo(context, transition.to) };
      if (!isEmpty(change)) await write(context.sandbox, change, { first: "store" });
    },
  };
}

const isEmpty = (change: SandboxChange): boolean => Object.keys(change).length === 0;

/** The change of the state; none for a transition that stays in its state and changes only the record. */
const moveTo = ({ sandbox }: { readonly sandbox: Sandbox }, state: SandboxState) => (sandbox.state === state ? {} : { state });

/** Writes the state after a failure. If the store does not accept it, the next change writes it; until then a restarted server finds `via`. */
function settle(sandbox: Sandbox, { state, ...change }: Settled, write: Write): Promise<void> {
  return write(sandbox, { ...change, ...moveTo({ sandbox }, state) }, { first: "memory", ignoresStore: true });
}

/** What a transition may have changed of the record, as it was before the intent. */
const settledAs = ({ state, endAt, incarnation, settings }: Sandbox["record"]): Settled => ({
  state: state as LivingState,
  endAt,
  incarnation,
  settings,
});

/** Nothing aborts a removal. Any other transition is aborted by its caller, its time limit, or the sandbox's removal. */
function signalOf({ to }: AnyTransition, sandbox: Sandbox, { signal }: RunOptions, limit: TimeLimit | undefined): AbortSignal {
  if (to === "dead") return new AbortController().signal;
  return AbortSignal.any([sandbox.interrupted, ...(signal ? [signal] : []), ...(limit ? [limit.signal] : [])]);
}

/** Observers that inject faults get each point with the transition's name; the trace and the log get how long each step took. */
export function observerOf(
  parts: Pick<EngineNeeds, "events" | "observer" | "timings">,
  name: string,
  took: Record<string, number>,
  times?: RunTimes,
): StepObserver {
  const { observer } = parts;
  const trace = parts.events.stepTrace(name);
  return {
    ...(trace.meter && { meter: trace.meter }),
    ...(observer?.before && { before: (point: string, signal) => observer.before?.(`${name} ${point}`, signal) }),
    ...(observer?.after && { after: (point: string, signal) => observer.after?.(`${name} ${point}`, signal) }),
    onStep: (event) => {
      took[event.name] = rounded(event.durationMs);
      trace.onStep?.(event);
      times?.step(event.name, event.durationMs);
    },
  };
}

const rounded = (ms: number) => Math.round(ms * 100) / 100;
