import type { InitBody } from "@boxyard/agent-client";
import { AppError, type Cleanup, type Step } from "@boxyard/core";
import type { SnapshotRef } from "@boxyard/driver";
import type { SandboxRecord } from "../../store/index.ts";
import { isVolumeLost, withVolumeName } from "../../volumes/naming.ts";
import type { ResumeInput } from "../engine/own-transitions.ts";
import type { EngineParts } from "../engine/parts.ts";
import type { Sandbox } from "../engine/sandbox.ts";
import { type RecordChange, recordOf, type Transition, type TransitionContext } from "../engine/transition.ts";
import { failedVerb } from "../failed-verb.ts";
import { isNoRoom } from "../problems.ts";
import { driverSpecOf, initBodyOf } from "./create.ts";

/** Enough to read much memory from a slow disk, and for the agent's answer. */
export const RESUME_MS = 5 * 60_000;

export interface ResumeContext extends TransitionContext, ResumeInput {}

/** What the new processes of a paused sandbox start from. */
interface Begin {
  readonly memory: boolean;
  /** This snapshot instead of the sandbox's generation (a rollback). */
  readonly from?: SnapshotRef;
}

/** The generation is kept until the end of the transition, so each failure leads back to it. */
export async function startFrom({ parts, sandbox }: TransitionContext, { memory, from }: Begin, undo: Cleanup, signal: AbortSignal) {
  undo.add("revert", async () => {
    if (sandbox.state !== "running") await parts.driver.revert(sandbox.id);
  });
  const network = await parts.policies.of(sandbox.record);
  await parts.driver.resume({ ...driverSpecOf(sandbox.record), network, ...(from && { from }) }, { memory }, signal);
}

/** The driver leaves the commands frozen; `/init` thaws them. */
export async function initAgent({ parts, sandbox }: TransitionContext, begin: Begin, signal: AbortSignal): Promise<void> {
  const address = await parts.driver.address(sandbox.handle);
  await parts.agent.init(address, sandbox.record.facts.initKey, bodyOf(parts, sandbox, begin), signal);
  if (sandbox.incarnation) sandbox.incarnation.address = address;
}

const start: Step<ResumeContext> = {
  name: "start",
  run: (context, undo, signal) => startFrom(context, context, undo, signal),
};
const init: Step<ResumeContext> = { name: "init", run: (context, _undo, signal) => initAgent(context, context, signal) };

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
  steps: [start, init],
  output: recordOf,
  result: (context) => started(context, context.timeoutMs),
  done(context, took) {
    context.parts.events.resumed(context.sandbox.record, took);
    void dropGeneration(context);
  },
  failed: ({ parts, sandbox }, error) => parts.events.resumeFailed(sandbox.record, error),
};

/** The record of a sandbox that has processes again; `timeoutMs` is its lifetime from now. */
export function started({ parts, sandbox }: TransitionContext, timeoutMs: number): RecordChange {
  const { pauseMode: _, pauseCause: _cause, ...settings } = sandbox.record.settings;
  const startedAt = parts.clock.now();
  return { startedAt, endAt: startedAt + timeoutMs, settings };
}

/** The generation is not needed once the sandbox runs. If this fails, the next pause or the removal of the sandbox drops it. Never throws. */
export async function dropGeneration({ parts, sandbox }: TransitionContext): Promise<void> {
  await parts.driver.dropGeneration(sandbox.handle).catch((error: unknown) => parts.events.undoFailed(sandbox.id, "resume", error));
}

/** The environment is sent for a boot, and for a snapshot, whose agent may have an older one. With its own memory the agent still has it. */
function bodyOf(parts: EngineParts, sandbox: Sandbox, { memory, from }: Begin): InitBody {
  const { facts, settings } = sandbox.record;
  const { envVars, ...others } = initBodyOf(parts, sandbox.record, facts.templateEnv ?? {});
  return memory && settings.pauseMode === "full" && !from ? others : { ...others, ...(envVars && { envVars }) };
}

/** The error for the caller of a resume that failed. The sandbox stays paused, so a repeat is safe. `memory`: with its memory, if that was kept. */
export function resumeFailure({ facts, settings }: Pick<SandboxRecord, "facts" | "settings">, error: unknown, memory: boolean): AppError {
  if (isNoRoom(error)) return error;
  const isLost = isVolumeLost(error);
  if (!isLost && error instanceof AppError && ["not_found", "aborted", "canceled"].includes(error.code)) return error;
  const named = withVolumeName(error, facts.volumes);
  const failure = failedVerb("The sandbox could not be resumed and stays paused", "resume_failed", named);
  // Its disk needs the same volumes.
  if (!(memory && settings.pauseMode === "full") || isLost || failure.reason !== "resume_failed" || failure.details.shouldRetry === true)
    return failure;
  const message = `${failure.message}. A resume with "memory": false starts it from its disk, without its memory`;
  return new AppError(failure.code, message, { reason: failure.reason, details: failure.details, cause: error });
}
