import type { Step } from "@boxyard/core";
import type { ResourceLimits } from "@boxyard/driver";
import { resourcesOf, type SandboxRecord } from "../../store/index.ts";
import { recordOf, type Transition, type TransitionContext } from "../engine/transition.ts";

export interface ResizeInput {
  /** The new limits, for the present ones. */
  to(present: ResourceLimits): ResourceLimits;
}

export interface ResizeContext extends TransitionContext {
  readonly resources: ResourceLimits;
  readonly before: SandboxRecord;
}

/** Takes effect at once. A driver that throws may have changed some of the limits. */
const enforce: Step<ResizeContext> = {
  name: "enforce",
  async run({ parts, sandbox, resources, before }, undo) {
    undo.add("limitsAsBefore", () => parts.driver.resize(sandbox.handle, resourcesOf(before)));
    await parts.driver.resize(sandbox.handle, resources);
  },
};

/**
 * Changes the limits of a running sandbox, which stays in its state. When a step fails, the limits are as before. A server that adopts the sandbox gives it
 * the limits of the record, which may be the new ones if the answer to a write was lost.
 */
export const resize: Transition<ResizeInput, ResizeContext> = {
  name: "resize",
  from: ["running"],
  via: "running",
  to: "running",
  onFailure: "return",
  prepare: (base, { to }) => ({ ...base, before: base.sandbox.record, resources: to(resourcesOf(base.sandbox.record)) }),
  intent: ({ before: { settings }, resources }) => ({ settings: { ...settings, resources } }),
  steps: [enforce],
  output: recordOf,
  failed: ({ parts, sandbox }, error) => parts.events.resizeFailed(sandbox.record, error),
};
