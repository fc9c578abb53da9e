import type { Step } from "@boxyard/core";
import type { SandboxSettings } from "../../store/index.ts";
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
    const { teamId } = sandbox.record;
    const set = async (to: SandboxSettings) => parts.driver.setNetwork(sandbox.handle, await parts.policies.of({ teamId, settings: to }));
    undo.add("rulesAsBefore", () => set(before));
    await set(settings);
  },
};

/**
 * Replaces the egress rules of a running sandbox, which stays in its state; without an input the same rules get the present values of secrets. When a step fails, the rules are as before. A server that adopts the
 * sandbox enforces the rules of the record, which may be the new ones if the answer to a write was lost.
 */
export const setEgress: Transition<Egress | undefined, EgressContext> = {
  name: "setEgress",
  from: ["running"],
  via: "running",
  to: "running",
  onFailure: "return",
  prepare(base, egress) {
    const before = base.sandbox.record.settings;
    if (!egress) return { ...base, before, settings: before };
    const { rules: _, secrets: _attached, egressProxy: _proxy, recording: _recording, preset: _preset, ...kept } = before;
    return { ...base, before, settings: { ...kept, ...egress } };
  },
  intent: ({ settings }) => ({ settings }),
  steps: [enforce],
  output: recordOf,
  failed: ({ parts, sandbox }, error) => parts.events.egressFailed(sandbox.record, error),
};
