import { recordOf, type Transition, type TransitionContext } from "../engine/transition.ts";

export interface EndInput {
  /** The new end for the present one, both in milliseconds since 1970. */
  to(endAt: number): number;
}

export interface EndContext extends TransitionContext {
  readonly endAt: number;
}

/** Moves the end of a running sandbox, which counts as use of it. Only its record changes, and nothing is written when the end is the same. */
export const setEnd: Transition<EndInput, EndContext> = {
  name: "setEnd",
  from: ["running"],
  via: "running",
  to: "running",
  onFailure: "return",
  prepare: (base, { to }) => ({ ...base, endAt: to(base.sandbox.record.endAt) }),
  intent: ({ sandbox, endAt }) => (endAt === sandbox.record.endAt ? {} : { endAt }),
  steps: [],
  output: recordOf,
  // Who asks for another end is about to use it.
  done: ({ parts, sandbox }) => parts.routes.find(sandbox.id)?.flights.touch(),
};
