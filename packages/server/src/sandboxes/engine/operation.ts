import type { Step } from "@boxyard/core";

/**
 * Work that runs several transitions, and has one result: an ordered list of steps on several sandboxes. The store has a row of it from its intent on: with
 * its input, its step, and at its end its output. Observers see its points like those of a transition. Each step runs transitions, in the turns of
 * their sandboxes; the operation itself does not wait for a turn. The write of its output decides: when the server dies before, the next one undoes the
 * whole operation (`undoLeft`), and after it everything stays.
 */
export interface Operation<Input, Context, Output, Parts> {
  readonly name: string;
  /** The steps, in order. A step registers its undo action before it changes anything; if a later step fails, the undo actions run in reverse order. */
  readonly steps: readonly Step<Context>[];
  /** The result, as the store keeps it: JSON. */
  output(context: Context): Output;
  /** Removes what the operation of a dead server has left. Repeatable. */
  undoLeft(parts: Parts, input: Input): Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: a list of operations whose inputs, contexts and outputs differ
export type AnyOperation = Operation<any, any, any, any>;
