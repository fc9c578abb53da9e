import { AppError, isAppError, type Step } from "@boxyard/core";
import type { CaptureOptions } from "@boxyard/driver";
import { addressOf } from "../engine/sandbox.ts";
import type { Transition, TransitionContext } from "../engine/transition.ts";
import { failedVerb } from "../failed-verb.ts";

/** Enough for much memory on a slow disk. */
const SNAPSHOT_MS = 10 * 60_000;
const AGENT_MS = 10_000;

export interface SnapshotContext extends TransitionContext, CaptureOptions {}

/** Sandboxes that start from the memory start with this agent, so it must answer. */
const checkAgent: Step<SnapshotContext> = {
  name: "checkAgent",
  async run({ parts, sandbox, memory }, _undo, signal) {
    if (!memory || (await parts.agent.isHealthy(addressOf(sandbox), AGENT_MS, signal))) return;
    throw new AppError("unavailable", "The sandbox's agent does not answer", { reason: "agent_silent" });
  },
};

/** Keeps the snapshot, whole or not at all. The caller notes or removes it; `SnapshotKeeper` removes snapshots that nobody has noted. */
const capture: Step<SnapshotContext> = {
  name: "capture",
  async run({ parts, sandbox, id, memory }, _undo, signal) {
    await parts.driver.snapshots.capture(sandbox.handle, { id, memory }, signal);
  },
};

/**
 * Keeps the present disk, and memory if asked, of a running sandbox, for others to start from. The sandbox runs on, also when a step fails. The
 * agent does not freeze the commands first: the driver freezes the whole sandbox, and only during the capture.
 */
export const snapshot: Transition<CaptureOptions, SnapshotContext> = {
  name: "snapshot",
  from: ["running"],
  via: "snapshotting",
  to: "running",
  onFailure: "return",
  limitMs: SNAPSHOT_MS,
  prepare: (base, options) => ({ ...base, ...options }),
  steps: [checkAgent, capture],
  done: ({ parts, sandbox, id, memory }, took) => parts.events.captured(sandbox.record, { snapshot: id, memory, ...took }),
  failed: ({ parts, sandbox }, error) => parts.events.captureFailed(sandbox.record, error),
};

/** The error for the caller of a capture that failed: the sandbox runs on, and no snapshot was kept. `what`: the verb that was asked for. */
export function captureFailure(what: "forked" | "snapshotted", id: string, error: unknown): AppError {
  if (isAppError(error, "wrong_state")) {
    const message = `Sandbox '${id}' cannot be ${what} while in '${String(error.details.state)}' state`;
    return new AppError("aborted", message, { reason: "not_running", cause: error });
  }
  if (error instanceof AppError && ["not_found", "aborted", "canceled", "unimplemented"].includes(error.code)) return error;
  return failedVerb(`The sandbox could not be ${what} and runs on`, "snapshot_failed", error);
}
