import type { LivingState, SandboxState, Step } from "@boxyard/core";
import type { SandboxChange } from "../../store/index.ts";
import type { EngineParts } from "./parts.ts";
import type { Sandbox } from "./sandbox.ts";

/** What every step can use; a transition adds what its own steps hand to each other. */
export interface TransitionContext {
  readonly parts: EngineParts;
  readonly sandbox: Sandbox;
}

/** A change of the record that comes together with a move; the engine adds the state. */
export type RecordChange = Omit<SandboxChange, "state">;

/**
 * What becomes of the sandbox when a step fails; the steps' own undo actions have run by then.
 * - `return`: it goes back to the state and the record that it had before.
 * - `remove`: it is removed.
 * - `retry`: it stays in the state between; the sweep runs the same steps again.
 */
export type OnFailure = "return" | "remove" | "retry";

/**
 * One way in which a sandbox changes its state: `from` → `via` → `to`. The engine writes `via` to the store before the first step and `to`
 * after the last one, so that a restarted server knows what was going on (`transitions/adopt.ts` has its answer for each `via`). Where all three are the
 * same state it changes the record alone: `intent` gives what is written before the first step.
 */
export interface Transition<Input, Context extends TransitionContext> {
  readonly name: string;
  /** The states in which it may begin. Empty: it makes the sandbox, and its record is inserted in the state `via`. */
  readonly from: readonly LivingState[];
  readonly via: LivingState;
  readonly to: SandboxState;
  readonly onFailure: OnFailure;
  /** Longest time for all steps together, in milliseconds; without it only the caller and the removal of the sandbox end it early. */
  readonly limitMs?: number;
  /** Goes on when the store does not take the intended state. Only a removal: what is being removed must not live on for a full disk. */
  readonly ignoresStore?: boolean;
  /** It starts again what took nothing: it begins only when enough of the machine is free. */
  readonly needsRoom?: boolean;
  /** Bytes of memory that it takes at once, where that may be more than what any start takes. */
  memoryToTake?(base: Pick<TransitionContext, "parts" | "sandbox">, input: Input): Promise<number>;
  prepare(base: TransitionContext, input: Input): Context;
  /** What the record gets together with `via`. */
  intent?(context: Context): RecordChange;
  /** In order. A step registers its undo before its deed; the engine runs the undo actions in reverse. */
  readonly steps: readonly Step<Context>[];
  /** True when there is no way back: whatever fails from then on, the sandbox is in `to`, though the store may learn of it later. */
  isDone?(context: Context): boolean;
  /** What the record gets together with `to`. */
  result?(context: Context): RecordChange;
  /** Tells the log that it has begun, was done, or failed. */
  begun?(context: Context): void;
  done?(context: Context, took: Took): void;
  failed?(context: Context, error: unknown): void;
}

/** Milliseconds, of all and of each step. */
export interface Took {
  readonly totalMs: number;
  readonly steps: Readonly<Record<string, number>>;
}

// biome-ignore lint/suspicious/noExplicitAny: a list of transitions whose inputs and contexts differ
export type AnyTransition = Transition<any, any>;

/** Names of the engine's own points in each transition: the write of `via`, and the write of `to`. */
export const INTENT = "intent";
export const RESULT = "result";

/** Where observers are called in a transition, in order: `create intent`, `create start`, … */
export function pointsOf({ name, steps }: AnyTransition): string[] {
  return [INTENT, ...steps.map((step) => step.name), RESULT].map((point) => `${name} ${point}`);
}
