import { AppError, isAppError, type Step } from "@boxyard/core";
import type { SnapshotInfo } from "@boxyard/driver";
import type { CheckpointHolder, SandboxRecord } from "../../store/index.ts";
import { addressOf } from "../engine/sandbox.ts";
import type { Transition, TransitionContext } from "../engine/transition.ts";
import { failedVerb } from "../failed-verb.ts";

/** Enough for much memory on a slow disk. */
const SNAPSHOT_MS = 10 * 60_000;
const AGENT_MS = 10_000;

export interface SnapshotInput {
  /** The id of the new checkpoint. The caller holds it until it refers to it, or until it is not needed any more (`SnapshotKeeper`). */
  readonly id: string;
  readonly memory: boolean;
  /** The name and tag that its user gives it. */
  readonly name?: string;
  readonly tag?: string;
  /** What needs it from the begin. */
  readonly holder?: CheckpointHolder;
}

export interface SnapshotContext extends TransitionContext, SnapshotInput {
  info: SnapshotInfo | undefined;
}

/** What was captured. */
export interface Captured {
  /** The record of the source when it was captured. */
  readonly source: SandboxRecord;
  readonly info: SnapshotInfo;
}

/** Sandboxes that start from the memory start with this agent, so it must answer. */
const checkAgent: Step<SnapshotContext> = {
  name: "checkAgent",
  async run({ parts, sandbox, memory }, _undo, signal) {
    if (!memory || (await parts.agent.isHealthy(addressOf(sandbox), AGENT_MS, signal))) return;
    throw new AppError("unavailable", "The sandbox's agent does not answer", { reason: "agent_silent" });
  },
};

/**
 * Writes the checkpoint to the store before the driver makes it: so nothing is left of it that no server finds. This has no undo: `SnapshotKeeper` removes
 * a checkpoint to which nothing refers and that nobody holds.
 */
const note: Step<SnapshotContext> = {
  name: "note",
  async run({ parts, sandbox, id, memory, name, tag, holder }) {
    const { teamId } = sandbox.record;
    const more = { ...(name !== undefined && { name }), ...(tag !== undefined && { tag }), ...(holder && { holder }) };
    await parts.store.checkpoints.begin({ id, teamId, sandboxId: sandbox.id, memory, ...more, createdAt: parts.clock.now() });
  },
};

/** Captures it, whole or not at all. */
const capture: Step<SnapshotContext> = {
  name: "capture",
  async run(context, _undo, signal) {
    const { parts, sandbox, id, memory } = context;
    context.info = await parts.driver.snapshots.capture(sandbox.handle, { id, memory }, signal);
  },
};

const commit: Step<SnapshotContext> = {
  name: "commit",
  async run(context) {
    const { memoryBytes, diskUsedBytes } = infoOf(context);
    if (await context.parts.store.checkpoints.commit(context.id, memoryBytes + diskUsedBytes)) return;
    throw new AppError("internal", "The store has no record of the snapshot", { reason: "record_lost" });
  },
};

/**
 * Keeps the present disk, and memory if asked, of a running sandbox, for others to start from. The sandbox runs on, also when a step fails. The
 * agent does not freeze the commands first: the driver freezes the whole sandbox, and only during the capture.
 */
export const snapshot: Transition<SnapshotInput, SnapshotContext, Captured> = {
  name: "snapshot",
  from: ["running"],
  via: "snapshotting",
  to: "running",
  onFailure: "return",
  limitMs: SNAPSHOT_MS,
  prepare: (base, input) => ({ ...base, ...input, info: undefined }),
  steps: [checkAgent, note, capture, commit],
  // The next checkpoint of the sandbox has this one as its parent.
  result: ({ id }) => ({ checkpointId: id }),
  output: (context) => ({ source: context.sandbox.record, info: infoOf(context) }),
  done: ({ parts, sandbox, id, memory }, took) => parts.events.captured(sandbox.record, { snapshot: id, memory, ...took }),
  failed: ({ parts, sandbox }, error) => parts.events.captureFailed(sandbox.record, error),
};

function infoOf({ info }: SnapshotContext): SnapshotInfo {
  if (!info) throw new AppError("internal", "Nothing was captured", { reason: "not_captured" });
  return info;
}

/** The error for the caller of a capture that failed: the sandbox runs on, and no snapshot was kept. `what`: the verb that was asked for. */
export function captureFailure(what: "forked" | "snapshotted", id: string, error: unknown): AppError {
  if (isAppError(error, "wrong_state")) {
    const message = `Sandbox '${id}' cannot be ${what} while in '${String(error.details.state)}' state`;
    return new AppError("aborted", message, { reason: "not_running", cause: error });
  }
  if (error instanceof AppError && ["not_found", "aborted", "canceled", "unimplemented"].includes(error.code)) return error;
  return failedVerb(`The sandbox could not be ${what} and runs on`, "snapshot_failed", error);
}
