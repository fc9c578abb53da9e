import type { Step } from "@boxyard/core";
import type { EgressPolicy } from "@boxyard/driver";
import type { SandboxSettings } from "../../store/index.ts";
import { recordOf, type Transition, type TransitionContext } from "../engine/transition.ts";

export interface EgressInput {
  readonly egress: EgressPolicy;
}

export interface EgressContext extends TransitionContext, EgressInput {
  readonly before: SandboxSettings;
}

/** Takes effect at once, for open connections too. A driver that throws may have applied the rules, or some of them. */
const enforce: Step<EgressContext> = {
  name: "enforce",
  async run({ parts, sandbox, egress, before }, undo) {
    undo.add("rulesAsBefore", () => parts.driver.setNetwork(sandbox.handle, before.egress));
    await parts.driver.setNetwork(sandbox.handle, egress);
  },
};

/**
 * Replaces the egress rules of a running sandbox, which stays in its state. When a step fails, the rules are as before. A server that adopts the
 * sandbox enforces the rules of the record, which may be the new ones if the answer to a write was lost.
 */
export const setEgress: Transition<EgressInput, EgressContext> = {
  name: "setEgress",
  from: ["running"],
  via: "running",
  to: "running",
  onFailure: "return",
  prepare: (base, { egress }) => ({ ...base, egress, before: base.sandbox.record.settings }),
  intent: ({ before, egress }) => ({ settings: { ...before, egress } }),
  steps: [enforce],
  output: recordOf,
  failed: ({ parts, sandbox }, error) => parts.events.egressFailed(sandbox.record, error),
};
