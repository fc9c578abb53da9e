import type { Step } from "@boxyard/core";

/**
 * Work on several sandboxes as one ordered list of steps, whose points observers see like those of a transition. Each step runs transitions, in the
 * turns of their sandboxes. A sequence has no state of its own, and stores no intent: what a dead server leaves of it is what it leaves of these
 * transitions, and `transitions/adopt.ts` has the answer to each.
 */
export interface Sequence<Context> {
  readonly name: string;
  /** In order. A step registers its undo before its deed; the undo actions run in reverse when a later step fails. */
  readonly steps: readonly Step<Context>[];
}

// biome-ignore lint/suspicious/noExplicitAny: a list of sequences whose contexts differ
export type AnySequence = Sequence<any>;
