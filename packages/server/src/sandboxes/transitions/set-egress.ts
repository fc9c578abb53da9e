import type { Step } from "@boxyard/core";
import type { EgressPolicy } from "@boxyard/driver";
import type { SandboxSettings } from "../../store/index.ts";
import type { Transition, TransitionContext } from "../engine/transition.ts";

export interface EgressInput {
  readonly egress: EgressPolicy;
}

export interface EgressContext extends TransitionContext, EgressInput {
  readonly before: SandboxSettings;
}

/** At once, for open connections too. A driver that fails may have done it anyway, or a part of it. */
const enforce: Step<EgressContext> = {
  name: "enforce",
  async run({ parts, sandbox, egress, before }, undo) {
    undo.add("rulesAsBefore", () => parts.driver.setNetwork(sandbox.handle, before.egress));
    await parts.driver.setNetwork(sandbox.handle, egress);
  },
};

/**
 * Replaces the rules of what may leave a running sandbox, which stays in its state. When a step fails, the rules are as before; a server that
 * adopts the sandbox enforces what is written, which after a write whose answer was lost may be the new ones.
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
  failed: ({ parts, sandbox }, error) => parts.events.egressFailed(sandbox.record, error),
};
