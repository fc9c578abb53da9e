import type { InitBody } from "@boxyard/agent-client";
import { AppError, type Step } from "@boxyard/core";
import type { SnapshotRef } from "@boxyard/driver";
import { isNoRoom } from "../create/capacity-gate.ts";
import type { Transition, TransitionContext } from "../engine/transition.ts";
import { failedVerb } from "../failed-verb.ts";
import { driverSpecOf, initBodyOf } from "./create.ts";

/** Enough to read much memory from a slow disk, and for the agent's answer. */
const RESUME_MS = 5 * 60_000;

export interface ResumeInput {
  /** How long the sandbox lives from now on. */
  readonly timeoutMs: number;
  /** False: the sandbox boots from its disk, even if its memory was kept. */
  readonly memory: boolean;
  /** The sandbox goes on from this snapshot instead of its generation (a rollback). */
  readonly from?: SnapshotRef;
}

export interface ResumeContext extends TransitionContext, ResumeInput {}

/** The generation is kept until the resume is done, so each failure leads back to it. */
const bringBack: Step<ResumeContext> = {
  name: "bringBack",
  async run({ parts, sandbox, memory, from }, undo, signal) {
    undo.add("revert", async () => {
      if (sandbox.state === "resuming") await parts.driver.revert(sandbox.id);
    });
    await parts.driver.resume({ ...driverSpecOf(sandbox.record), ...(from && { from }) }, { memory }, signal);
  },
};

/** The driver leaves the commands frozen; `/init` thaws them. */
const init: Step<ResumeContext> = {
  name: "init",
  async run(context, _undo, signal) {
    const { parts, sandbox } = context;
    const address = await parts.driver.address(sandbox.handle);
    await parts.agent.init(address, sandbox.record.facts.initKey, bodyOf(context), signal);
    if (sandbox.incarnation) sandbox.incarnation.address = address;
  },
};

/** Starts a paused sandbox again. When a step fails, the sandbox is paused as before. */
export const resume: Transition<ResumeInput, ResumeContext> = {
  name: "resume",
  from: ["paused"],
  via: "resuming",
  to: "running",
  onFailure: "return",
  limitMs: RESUME_MS,
  needsRoom: true,
  memoryToTake: async ({ parts, sandbox }, { memory }) => (memory ? ((await parts.driver.generation(sandbox.id))?.memoryBytes ?? 0) : 0),
  prepare: (base, input) => ({ ...base, ...input }),
  intent: ({ sandbox }) => ({ incarnation: sandbox.record.incarnation + 1 }),
  steps: [bringBack, init],
  result({ parts, sandbox, timeoutMs }) {
    const { pauseMode: _, ...settings } = sandbox.record.settings;
    const startedAt = parts.clock.now();
    return { startedAt, endAt: startedAt + timeoutMs, settings };
  },
  done({ parts, sandbox }, took) {
    parts.events.resumed(sandbox.record, took);
    // The generation is not needed any more. If this fails, the next pause or the removal of the sandbox drops it.
    void parts.driver.dropGeneration(sandbox.handle).catch((error: unknown) => parts.events.undoFailed(sandbox.id, "resume", error));
  },
  failed: ({ parts, sandbox }, error) => parts.events.resumeFailed(sandbox.record, error),
};

/** The environment is sent for a boot, and for a snapshot, whose agent may have an older one. With its own memory the agent still has it. */
function bodyOf({ parts, sandbox, memory, from }: ResumeContext): InitBody {
  const { facts, settings } = sandbox.record;
  const { envVars, ...others } = initBodyOf(parts, sandbox.record, facts.templateEnv ?? {});
  return memory && settings.pauseMode === "full" && !from ? others : { ...others, ...(envVars && { envVars }) };
}

/** The error for the caller of a resume that failed. The sandbox stays paused, so a repeat is safe. */
export function resumeFailure(error: unknown): AppError {
  if (isNoRoom(error)) return error;
  if (error instanceof AppError && ["not_found", "aborted", "canceled"].includes(error.code)) return error;
  return failedVerb("The sandbox could not be resumed and stays paused", "resume_failed", error);
}
