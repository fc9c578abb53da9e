import { AppError, type Cleanup, type SandboxState, type Step } from "@boxyard/core";
import type { PauseMode } from "../../store/index.ts";
import type { PauseInput } from "../engine/own-transitions.ts";
import { addressOf } from "../engine/sandbox.ts";
import { recordOf, type Transition, type TransitionContext } from "../engine/transition.ts";
import { failedVerb } from "../failed-verb.ts";

/** From the freeze to the last byte on the disk: enough for much memory on a slow disk. */
export const PAUSE_MS = 10 * 60_000;

export interface Keeping extends TransitionContext {
  /** True after memory and disk were saved. From then on the pause cannot be undone, and the sandbox has no processes even if a later step fails. */
  isKept: boolean;
}

export interface PauseContext extends Keeping, PauseInput {}

/**
 * The agent freezes its commands, but not itself, so that a failed pause can be undone. An agent that hangs fails the pause: the freeze may take
 * six seconds and the unfreeze three, then the driver thaws the sandbox from outside. So a failed pause takes ten seconds at most.
 */
export async function freezeCommands(context: Keeping, undo: Cleanup, signal: AbortSignal): Promise<void> {
  const { parts, sandbox } = context;
  const [address, token] = [addressOf(sandbox), parts.tokens.access(sandbox.id)];
  undo.add("unfreeze", async () => {
    if (context.isKept) return;
    await parts.agent.unfreeze(address, token, new AbortController().signal).catch(async (error: unknown) => {
      if (!parts.driver.capabilities.freeze) throw error;
      await parts.driver.thaw(sandbox.handle);
    });
  });
  await parts.agent.freeze(address, token, signal);
}

/** Keeps memory and disk, whole or not at all. A driver that throws may have kept them anyway: then the pause is finished. */
export async function keepSandbox(context: Keeping, memory: boolean, signal: AbortSignal): Promise<void> {
  const { parts, sandbox } = context;
  const { driver } = parts;
  await parts.metering?.keep(sandbox);
  try {
    await driver.pause(sandbox.handle, { memory }, signal);
  } catch (error) {
    const kept = await driver.generation(sandbox.id);
    if (kept?.incarnation !== sandbox.record.incarnation) throw error;
    await driver.revert(sandbox.id);
  }
  context.isKept = true;
}

const freeze: Step<PauseContext> = {
  name: "freeze",
  run: async (context, undo, signal) => (context.asksAgent === false ? undefined : freezeCommands(context, undo, signal)),
};
const keep: Step<PauseContext> = { name: "keep", run: (context, _undo, signal) => keepSandbox(context, context.memory, signal) };

/** Keeps a sandbox's memory and disk and ends its processes. When a step fails, the sandbox runs on. */
export const pause: Transition<PauseInput, PauseContext> = {
  name: "pause",
  from: ["running"],
  via: "pausing",
  to: "paused",
  onFailure: "return",
  limitMs: PAUSE_MS,
  prepare: (base, input) => ({ ...base, ...input, isKept: false }),
  intent: ({ sandbox, memory, cause = "requested" }) => ({
    settings: { ...sandbox.record.settings, pauseMode: modeOf(memory), pauseCause: cause },
  }),
  steps: [freeze, keep],
  output: recordOf,
  settled: ({ parts, isKept }) => (isKept ? { state: "paused", endAt: parts.clock.now() } : undefined),
  result: ({ parts }) => ({ endAt: parts.clock.now() }),
  done: ({ parts, sandbox, memory, cause = "requested" }, took) =>
    parts.events.paused(sandbox.record, { mode: modeOf(memory), cause, ...took }),
  failed: ({ parts, sandbox }, error) => parts.events.pauseFailed(sandbox.record, error),
};

export const modeOf = (memory: boolean): PauseMode => (memory ? "full" : "filesystem");

/** The error for the caller of a pause that failed: says whether the sandbox runs on, and whether a repeat may succeed. */
export function pauseFailure(error: unknown, state: SandboxState): AppError {
  if (error instanceof AppError && ["not_found", "aborted", "canceled"].includes(error.code)) return error;
  if (state === "paused") {
    return new AppError("internal", "The sandbox is paused, but the store did not take it", { reason: "pause_not_stored", cause: error });
  }
  return failedVerb("The sandbox could not be paused and runs on", "pause_failed", error);
}
