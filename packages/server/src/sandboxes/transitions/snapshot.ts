import { AppError, isAppError, type Step } from "@boxyard/core";
import type { CaptureOptions } from "@boxyard/driver";
import { addressOf } from "../engine/sandbox.ts";
import type { Transition, TransitionContext } from "../engine/transition.ts";
import { failedVerb } from "../failed-verb.ts";

/** Much memory, on a slow disk. */
const SNAPSHOT_MS = 10 * 60_000;
const AGENT_MS = 10_000;

export interface SnapshotContext extends TransitionContext, CaptureOptions {}

/** What starts from its memory starts with this agent: one that does not answer now never would. */
const checkAgent: Step<SnapshotContext> = {
  name: "checkAgent",
  async run({ parts, sandbox, memory }, _undo, signal) {
    if (!memory || (await parts.agent.isHealthy(addressOf(sandbox), AGENT_MS, signal))) return;
    throw new AppError("unavailable", "The sandbox's agent does not answer", { reason: "agent_silent" });
  },
};

/** Whole or not at all. The caller keeps or removes it; one that nobody knows is removed by `SnapshotKeeper`. */
const capture: Step<SnapshotContext> = {
  name: "capture",
  async run({ parts, sandbox, id, memory }, _undo, signal) {
    await parts.driver.snapshots.capture(sandbox.handle, { id, memory }, signal);
  },
};

/**
 * Keeps what a sandbox is now, for others to start from; it goes on, also when a step fails. Its commands are not frozen before: the driver has
 * everything stand still, and only in the moment of the capture.
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

/** What a caller is told when a sandbox could not be captured: it runs on, and nothing was kept. `what`: what was asked for. */
export function captureFailure(what: "forked" | "snapshotted", id: string, error: unknown): AppError {
  if (isAppError(error, "wrong_state")) {
    const message = `Sandbox '${id}' cannot be ${what} while in '${String(error.details.state)}' state`;
    return new AppError("aborted", message, { reason: "not_running", cause: error });
  }
  if (error instanceof AppError && ["not_found", "aborted", "canceled", "unimplemented"].includes(error.code)) return error;
  return failedVerb(`The sandbox could not be ${what} and runs on`, "snapshot_failed", error);
}
