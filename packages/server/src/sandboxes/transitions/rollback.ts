import { Cleanup, type Step, TimeLimit } from "@boxyard/core";
import type { SnapshotRef } from "@boxyard/driver";
import type { SandboxRecord } from "../../store/index.ts";
import { type RecordChange, recordOf, type Transition } from "../engine/transition.ts";
import { freezeCommands, type Keeping, keepSandbox, modeOf, PAUSE_MS } from "./pause.ts";
import { dropGeneration, initAgent, RESUME_MS, started, startFrom } from "./resume.ts";

export interface RollbackInput {
  /** The sandbox continues from this snapshot. */
  readonly from: SnapshotRef;
}

export interface RollbackContext extends Keeping, RollbackInput {
  readonly before: SandboxRecord;
  /** Lifetime of the sandbox from now; a running sandbox keeps the rest of its lifetime. */
  readonly timeoutMs: number;
  /** True once the sandbox runs as before, because the rollback failed after its processes had ended. */
  runsAsBefore: boolean;
}

/** A paused sandbox has its generation already. */
const isPaused = ({ before }: RollbackContext) => before.state === "paused";

const freeze: Step<RollbackContext> = {
  name: "freeze",
  async run(context, undo, signal) {
    if (!isPaused(context)) await freezeCommands(context, undo, signal);
  },
};

/** Saves the present state of the sandbox, so that the sandbox can continue from it if the rollback fails. */
const keep: Step<RollbackContext> = {
  name: "keep",
  async run(context, undo, signal) {
    if (isPaused(context)) return;
    undo.add("runAsBefore", () => runAsBefore(context));
    await keepSandbox(context, keepsMemory(context), signal);
  },
};

const keepsMemory = ({ parts }: RollbackContext) => parts.driver.capabilities.checkpoint === "memory";

/** From here on the record is for new processes. If this server dies, the next server returns the sandbox to the saved state. */
const changeIncarnation: Step<RollbackContext> = {
  name: "changeIncarnation",
  run: (context) => context.change(withNextIncarnation(context, keepsMemory(context))),
};

/** The record for new processes of a sandbox whose former state was saved, with memory or without. */
export function withNextIncarnation({ before }: Pick<RollbackContext, "before">, memory: boolean): RecordChange {
  const pauseMode = before.settings.pauseMode ?? modeOf(memory);
  return { incarnation: before.incarnation + 1, settings: { ...before.settings, pauseMode } };
}

const start: Step<RollbackContext> = {
  name: "start",
  run: (context, undo, signal) => startFrom(context, { memory: context.from.memory, from: context.from }, undo, signal),
};
const init: Step<RollbackContext> = {
  name: "init",
  run: (context, _undo, signal) => initAgent(context, { memory: context.from.memory, from: context.from }, signal),
};

/**
 * Starts the sandbox again from its saved state. Its generation is dropped before any client sees that the sandbox runs: if the server dies
 * after that, the next server recovers the running sandbox, and does not return to the generation.
 */
async function runAsBefore(context: RollbackContext): Promise<void> {
  const { parts, sandbox, isKept } = context;
  if (!isKept || sandbox.state !== "rollingBack" || sandbox.interrupted.aborted) return;
  const notReverted: unknown[] = [];
  const undo = new Cleanup((_name, error) => notReverted.push(error));
  using limit = new TimeLimit(RESUME_MS, parts.clock);
  const signal = AbortSignal.any([sandbox.interrupted, limit.signal]);
  const memory = keepsMemory(context);
  try {
    await context.change(withNextIncarnation(context, memory));
    await startFrom(context, { memory }, undo, signal);
    await initAgent(context, { memory }, signal);
  } catch (error) {
    await undo.run();
    if (notReverted.length > 0) throw notReverted[0];
    parts.events.resumeFailed(sandbox.record, error);
    return;
  }
  await dropGeneration(context);
  context.runsAsBefore = true;
}

/**
 * Resets a sandbox to a snapshot: saves its present state as a pause does, ends its processes, and starts others from the snapshot. If a step fails, the
 * sandbox keeps running or stays paused as before; if its processes cannot start again, it is paused. If the server dies after `keep`, it is paused.
 */
export const rollback: Transition<RollbackInput, RollbackContext> = {
  name: "rollback",
  from: ["running", "paused"],
  via: "rollingBack",
  to: "running",
  onFailure: "return",
  limitMs: PAUSE_MS + RESUME_MS,
  needsRoom: true,
  memoryToTake: async ({ parts, sandbox }, { from }) => (from.memory ? ((await parts.driver.generation(sandbox.id))?.memoryBytes ?? 0) : 0),
  prepare(base, input) {
    const { record } = base.sandbox;
    const timeoutMs = record.state === "running" ? record.endAt - base.parts.clock.now() : record.facts.timeoutMs;
    return { ...base, ...input, before: record, timeoutMs, isKept: false, runsAsBefore: false };
  },
  steps: [freeze, keep, changeIncarnation, start, init],
  output: recordOf,
  settled(context) {
    if (!context.isKept) return undefined;
    if (context.runsAsBefore) return { state: "running", ...started(context, context.timeoutMs) };
    return asPaused(context, keepsMemory(context));
  },
  result: (context) => ({ ...started(context, context.timeoutMs), checkpointId: context.from.snapshot }),
  done(context, took) {
    context.parts.events.rolledBack(context.sandbox.record, { snapshot: context.from.snapshot, ...took });
    void dropGeneration(context);
  },
  failed: ({ parts, sandbox }, error) => parts.events.rollbackFailed(sandbox.record, error),
};

/** The state of a sandbox whose former state was saved, and whose new processes did not start. */
export function asPaused({ parts, before }: Pick<RollbackContext, "parts" | "before">, memory: boolean) {
  const settings = { ...before.settings, pauseMode: modeOf(memory) };
  return { state: "paused", endAt: parts.clock.now(), incarnation: before.incarnation, settings } as const;
}
