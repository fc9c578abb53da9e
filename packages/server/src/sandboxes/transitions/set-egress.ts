import type { Step } from "@boxyard/core";
import type { SandboxSettings } from "../../store/index.ts";
import { driverPolicy } from "../egress/driver-policy.ts";
import type { Egress } from "../egress/egress-request.ts";
import { recordOf, type Transition, type TransitionContext } from "../engine/transition.ts";

export interface EgressContext extends TransitionContext {
  readonly before: SandboxSettings;
  readonly settings: SandboxSettings;
}

/** Takes effect at once, for open connections too. A driver that throws may have applied the rules, or some of them. */
const enforce: Step<EgressContext> = {
  name: "enforce",
  async run({ parts, sandbox, settings, before }, undo) {
    undo.add("rulesAsBefore", () => parts.driver.setNetwork(sandbox.handle, driverPolicy(before)));
    await parts.driver.setNetwork(sandbox.handle, driverPolicy(settings));
  },
};

/**
 * Replaces the egress rules of a running sandbox, which stays in its state. When a step fails, the rules are as before. A server that adopts the
 * sandbox enforces the rules of the record, which may be the new ones if the answer to a write was lost.
 */
export const setEgress: Transition<Egress, EgressContext> = {
  name: "setEgress",
  from: ["running"],
  via: "running",
  to: "running",
  onFailure: "return",
  prepare(base, egress) {
    const before = base.sandbox.record.settings;
    const { rules: _, ...kept } = before;
    return { ...base, before, settings: { ...kept, ...egress } };
  },
  intent: ({ settings }) => ({ settings }),
  steps: [enforce],
  output: recordOf,
  failed: ({ parts, sandbox }, error) => parts.events.egressFailed(sandbox.record, error),
};
