import type { LivingState, SandboxState, Step } from "@boxyard/core";
import type { SandboxChange, SandboxRecord, TakenChange } from "../../store/index.ts";
import type { AnyOperation } from "./operation.ts";
import type { EngineParts } from "./parts.ts";
import type { Sandbox } from "./sandbox.ts";

/** What every step can use. A transition adds the values that its steps pass to each other. */
export interface TransitionContext {
  readonly parts: EngineParts;
  readonly sandbox: Sandbox;
  /** Writes a change of the record between the steps: to the store first, so that the next server finds the present state of the sandbox. */
  change(change: RecordChange): Promise<void>;
}

/** A change of the record that is written together with a move; the engine adds the state. */
export type RecordChange = Omit<SandboxChange, "state">;

/**
 * What becomes of the sandbox when a step fails; the steps' own undo actions have run by then.
 * - `return`: the sandbox goes back to the state and the record of before. When an undo action has failed, it stays in `via`, and the sweep settles
 *   it as if the server had died (`upkeep/adopt.ts`).
 * - `remove`: the sandbox is removed.
 * - `retry`: the sandbox stays in `via`; the sweep runs the same steps again.
 */
export type OnFailure = "return" | "remove" | "retry";

/**
 * One way in which a sandbox changes its state: `from` → `via` → `to`. The engine writes `via` to the store before the first step and `to`
 * after the last one, so that a restarted server knows which transition was in progress (`upkeep/adopt.ts` has an answer for each `via`). Where
 * all three are the same state, only the record changes: `intent` returns what is written before the first step.
 */
export interface Transition<Input, Context extends TransitionContext, Output = SandboxRecord> {
  readonly name: string;
  /** The states in which the transition may begin. Empty: it makes the sandbox, and inserts the record in the state `via`. */
  readonly from: readonly LivingState[];
  readonly via: LivingState;
  readonly to: SandboxState;
  readonly onFailure: OnFailure;
  /** Longest time for all steps together, in milliseconds. Without it, only the caller and the removal of the sandbox abort the transition. */
  readonly limitMs?: number;
  /** Goes on when the store does not take the intent. For removals only: a full disk must not keep a sandbox alive. */
  readonly ignoresStore?: boolean;
  /** True: a paused sandbox, which used no memory and no processes, uses them from now on, so the transition begins only if the machine has room. */
  readonly needsRoom?: boolean;
  /** Bytes of memory that the sandbox takes at once, where that may be more than what every start takes. */
  memoryToTake?(base: Pick<TransitionContext, "parts" | "sandbox">, input: Input): Promise<number>;
  prepare(base: TransitionContext, input: Input): Context;
  /** Changes of the record that are written together with `via`. */
  intent?(context: Context): RecordChange;
  /** In order. A step registers its undo before its deed; the engine runs the undo actions in reverse. */
  readonly steps: readonly Step<Context>[];
  /**
   * For `return`, after a failure and the undo actions: the state of the sandbox, if it is not the former one. For example, when a pause has saved the
   * sandbox, the sandbox is paused even if a later step fails. The store may get this state later.
   */
  settled?(context: Context): Settled | undefined;
  /** Changes of the record that are written together with `to`. */
  result?(context: Context): RecordChange;
  /** For a sandbox of the pool that a user gets: its new record, in place of `result`. */
  taken?(context: Context): TakenChange;
  /** What the caller gets, after the last step and the write of `to`. Most give the record: `recordOf`. */
  output(context: Context): Output;
  /** Tell the log that the transition has begun, was done, or failed. */
  begun?(context: Context): void;
  done?(context: Context, took: Took): void;
  failed?(context: Context, error: unknown): void;
}

/** A state, and the change of the record that is written with it. */
export type Settled = RecordChange & { readonly state: LivingState };

/** Milliseconds: of the whole transition, and of each point by name. */
export interface Took {
  readonly totalMs: number;
  readonly steps: Readonly<Record<string, number>>;
}

// biome-ignore lint/suspicious/noExplicitAny: a list of transitions whose inputs and contexts differ
export type AnyTransition = Transition<any, any, any>;

export const recordOf = ({ sandbox }: TransitionContext): SandboxRecord => sandbox.record;

/** Names of the engine's own points in each transition: the write of `via`, and the write of `to`. */
export const INTENT = "intent";
export const RESULT = "result";

/** The points at which observers are called in a transition, or in an operation, in order: `create intent`, `create start`, … */
export function pointsOf({ name, steps }: AnyTransition | AnyOperation): string[] {
  return [INTENT, ...steps.map((step) => step.name), RESULT].map((point) => `${name} ${point}`);
}
