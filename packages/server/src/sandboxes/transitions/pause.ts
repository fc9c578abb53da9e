import { AppError, type SandboxState, type Step } from "@boxyard/core";
import type { PauseMode } from "../../store/index.ts";
import { addressOf } from "../engine/sandbox.ts";
import type { Transition, TransitionContext } from "../engine/transition.ts";
import { failedVerb } from "../failed-verb.ts";

/** From the freeze to the last byte on the disk, with much memory on a slow one. */
const PAUSE_MS = 10 * 60_000;

export interface PauseInput {
  readonly memory: boolean;
  /** The agent is known not to answer: it is not asked to stop its commands. The driver has everything stand still, as it always does. */
  readonly isAgentSilent?: boolean;
}

export interface PauseContext extends TransitionContext, PauseInput {
  /** True once the sandbox is kept: from then on there is no way back, and it is paused whatever fails. */
  isKept: boolean;
}

/**
 * The agent stops its commands; it goes on itself, so that a pause that fails can be taken back. An agent that hangs fails the pause: it is asked for
 * six seconds and told to thaw for three; whatever it has frozen is thawed from outside then, so all of it takes no longer than ten.
 */
const freeze: Step<PauseContext> = {
  name: "freeze",
  async run(context, undo, signal) {
    const { parts, sandbox } = context;
    if (context.isAgentSilent) return;
    const [address, token] = [addressOf(sandbox), parts.tokens.access(sandbox.id)];
    undo.add("unfreeze", async () => {
      if (context.isKept) return;
      await parts.agent.unfreeze(address, token, new AbortController().signal).catch(async (error: unknown) => {
        if (!parts.driver.capabilities.freeze) throw error;
        await parts.driver.thaw(sandbox.handle);
      });
    });
    await parts.agent.freeze(address, token, signal);
  },
};

/** Whole or not at all. A driver that fails may have kept it anyway: then the rest is done. */
const keep: Step<PauseContext> = {
  name: "keep",
  async run(context, _undo, signal) {
    const { parts, sandbox, memory } = context;
    const { driver } = parts;
    try {
      await driver.pause(sandbox.handle, { memory }, signal);
    } catch (error) {
      const kept = await driver.generation(sandbox.id);
      if (kept?.incarnation !== sandbox.record.incarnation) throw error;
      await driver.revert(sandbox.id);
    }
    context.isKept = true;
  },
};

/** Keeps a sandbox and ends what runs of it. When a step fails, the sandbox runs on. */
export const pause: Transition<PauseInput, PauseContext> = {
  name: "pause",
  from: ["running"],
  via: "pausing",
  to: "paused",
  onFailure: "return",
  limitMs: PAUSE_MS,
  prepare: (base, input) => ({ ...base, ...input, isKept: false }),
  intent: ({ sandbox, memory }) => ({ settings: { ...sandbox.record.settings, pauseMode: modeOf(memory) } }),
  steps: [freeze, keep],
  isDone: ({ isKept }) => isKept,
  result: ({ parts }) => ({ endAt: parts.clock.now() }),
  done: ({ parts, sandbox, memory }, took) => parts.events.paused(sandbox.record, { mode: modeOf(memory), ...took }),
  failed: ({ parts, sandbox }, error) => parts.events.pauseFailed(sandbox.record, error),
};

const modeOf = (memory: boolean): PauseMode => (memory ? "full" : "filesystem");

/** What a caller is told when a pause fails: whether the sandbox runs on, and whether it is worth trying again. */
export function pauseFailure(error: unknown, state: SandboxState): AppError {
  if (error instanceof AppError && ["not_found", "aborted", "canceled"].includes(error.code)) return error;
  if (state === "paused") {
    return new AppError("internal", "The sandbox is paused, but the store did not take it", { reason: "pause_not_stored", cause: error });
  }
  return failedVerb("The sandbox could not be paused and runs on", "pause_failed", error);
}
