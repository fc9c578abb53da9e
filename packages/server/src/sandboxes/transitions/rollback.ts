import { Cleanup, type Step } from "@boxyard/core";
import type { SnapshotRef } from "@boxyard/driver";
import type { SandboxRecord } from "../../store/index.ts";
import type { RecordChange, Transition } from "../engine/transition.ts";
import { freezeCommands, type Keeping, keepSandbox, modeOf, PAUSE_MS } from "./pause.ts";
import { dropGeneration, initAgent, RESUME_MS, started, startFrom } from "./resume.ts";

export interface RollbackInput {
  /** The sandbox goes on from this snapshot. */
  readonly from: SnapshotRef;
}

export interface RollbackContext extends Keeping, RollbackInput {
  readonly before: SandboxRecord;
  /** How long the sandbox lives from now on: a running one as long as it had left. */
  readonly timeoutMs: number;
  /** True once the sandbox runs as before, because the rollback failed after its processes had ended. */
  runsAsBefore: boolean;
}

/** A sandbox that is paused has its generation already. */
const isPaused = ({ before }: RollbackContext) => before.state === "paused";

const freeze: Step<RollbackContext> = {
  name: "freeze",
  async run(context, undo, signal) {
    if (!isPaused(context)) await freezeCommands(context, undo, signal);
  },
};

/** What the sandbox is now is kept, so that it can go on as it was when the rollback fails. */
const keep: Step<RollbackContext> = {
  name: "keep",
  async run(context, undo, signal) {
    if (isPaused(context)) return;
    undo.add("runAsBefore", () => runAsBefore(context));
    await keepSandbox(context, keepsMemory(context), signal);
  },
};

const keepsMemory = ({ parts }: RollbackContext) => parts.driver.capabilities.checkpoint === "memory";

/** From here on the record is one of new processes: the next server goes back to what was kept. */
const changeIncarnation: Step<RollbackContext> = {
  name: "changeIncarnation",
  run: (context) => context.change(withNextIncarnation(context, keepsMemory(context))),
};

/** The record for new processes of a sandbox whose former processes were kept, with their memory or without. */
export function withNextIncarnation({ before }: Pick<RollbackContext, "before">, memory: boolean): RecordChange {
  const pauseMode = before.settings.pauseMode ?? modeOf(memory);
  return { incarnation: before.incarnation + 1, settings: { ...before.settings, pauseMode } };
}

const bringBack: Step<RollbackContext> = {
  name: "bringBack",
  run: (context, undo, signal) => startFrom(context, { memory: context.from.memory, from: context.from }, undo, signal),
};
const init: Step<RollbackContext> = {
  name: "init",
  run: (context, _undo, signal) => initAgent(context, { memory: context.from.memory, from: context.from }, signal),
};

/**
 * Lets the sandbox go on from what was kept of it. Its generation is dropped before anybody hears that it runs: a server that dies after that
 * recovers it, and does not go back to the generation.
 */
async function runAsBefore(context: RollbackContext): Promise<void> {
  const { parts, sandbox, isKept } = context;
  if (!isKept || sandbox.state !== "rollingBack" || sandbox.interrupted.aborted) return;
  const notReverted: unknown[] = [];
  const undo = new Cleanup((_name, error) => notReverted.push(error));
  const signal = AbortSignal.any([sandbox.interrupted, AbortSignal.timeout(RESUME_MS)]);
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
 * Sets a sandbox back to a snapshot: its processes are kept as by a pause and end, and others start from the snapshot. When a step fails, the
 * sandbox runs on as before, or stays paused as before; one whose processes cannot start again is paused. A server that dies after `keep` leaves it paused.
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
  steps: [freeze, keep, changeIncarnation, bringBack, init],
  settled(context) {
    if (!context.isKept) return undefined;
    if (context.runsAsBefore) return { state: "running", ...started(context, context.timeoutMs) };
    return asPaused(context, keepsMemory(context));
  },
  result: (context) => started(context, context.timeoutMs),
  done(context, took) {
    context.parts.events.rolledBack(context.sandbox.record, { snapshot: context.from.snapshot, ...took });
    void dropGeneration(context);
  },
  failed: ({ parts, sandbox }, error) => parts.events.rollbackFailed(sandbox.record, error),
};

/** Where a sandbox is whose processes were kept, and whose new ones did not start. */
export function asPaused({ parts, before }: Pick<RollbackContext, "parts" | "before">, memory: boolean) {
  const settings = { ...before.settings, pauseMode: modeOf(memory) };
  return { state: "paused", endAt: parts.clock.now(), incarnation: before.incarnation, settings } as const;
}
