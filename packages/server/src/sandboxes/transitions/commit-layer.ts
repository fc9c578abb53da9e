import { AppError, type Step } from "@boxyard/core";
import type { LayerInfo } from "@boxyard/driver";
import type { Transition, TransitionContext } from "../engine/transition.ts";

export interface CommitInput {
  /** Paths that are not part of the layer. */
  readonly leaveOut: readonly string[];
}

export interface CommitContext extends TransitionContext, CommitInput {
  layer: LayerInfo | undefined;
}

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
  async run(context, _undo, signal) {
    const { parts, sandbox, leaveOut } = context;
    context.layer = await parts.driver.images.commit(sandbox.handle, { signal, leaveOut });
  },
};

const thaw: Step<CommitContext> = { name: "thaw", run: ({ parts, sandbox }) => parts.driver.thaw(sandbox.handle) };

/** Makes a layer of all changes of a sandbox's disk. The sandbox runs on, also when a step fails, and no state is stored: it belongs to a build. */
export const commitLayer: Transition<CommitInput, CommitContext, LayerInfo> = {
  name: "commitLayer",
  from: ["running"],
  via: "running",
  to: "running",
  onFailure: "return",
  prepare: (base, input) => ({ ...base, ...input, layer: undefined }),
  steps: [freeze, commit, thaw],
  output({ layer }) {
    if (!layer) throw new AppError("internal", "The layer was not made", { reason: "no_layer" });
    return layer;
  },
};
