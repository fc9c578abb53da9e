import type { Step } from "@boxyard/core";
import type { LayerInfo } from "@boxyard/driver";
import type { Transition, TransitionContext } from "../engine/transition.ts";

export interface CommitInput {
  /** Paths that are not part of the layer. */
  readonly leaveOut: readonly string[];
  /** Called with the layer. */
  made(layer: LayerInfo): void;
}

export interface CommitContext extends TransitionContext, CommitInput {}

/** Processes that still run must not change the disk meanwhile. */
const freeze: Step<CommitContext> = {
  name: "freeze",
  async run({ parts, sandbox }, undo) {
    undo.add("thaw", () => parts.driver.thaw(sandbox.handle));
    await parts.driver.freeze(sandbox.handle);
  },
};

/** A layer that no template uses is collected. */
const commit: Step<CommitContext> = {
  name: "commit",
  async run({ parts, sandbox, leaveOut, made }, _undo, signal) {
    made(await parts.driver.images.commit(sandbox.handle, { signal, leaveOut }));
  },
};

const thaw: Step<CommitContext> = { name: "thaw", run: ({ parts, sandbox }) => parts.driver.thaw(sandbox.handle) };

/** Makes a layer of all changes of a sandbox's disk. The sandbox runs on, also when a step fails, and no state is stored: it belongs to a build. */
export const commitLayer: Transition<CommitInput, CommitContext> = {
  name: "commitLayer",
  from: ["running"],
  via: "running",
  to: "running",
  onFailure: "return",
  prepare: (base, input) => ({ ...base, ...input }),
  steps: [freeze, commit, thaw],
};
