import type { Step } from "@boxyard/core";

/**
 * An ordered list of steps on several sandboxes. Observers see its points like those of a transition. Each step runs transitions, in the turns of
 * their sandboxes. A sequence has no state, and stores no intent: after the death of a server only its transitions can be unfinished, and
 * `transitions/adopt.ts` has an answer for each of them.
 */
export interface Sequence<Context> {
  readonly name: string;
  /** The steps, in order. A step registers its undo action before it changes anything; if a later step fails, the undo actions run in reverse order. */
  readonly steps: readonly Step<Context>[];
}

// biome-ignore lint/suspicious/noExplicitAny: a list of sequences whose contexts differ
export type AnySequence = Sequence<any>;
