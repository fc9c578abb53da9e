import type { AgentClient } from "@boxyard/agent-client";
import type { Clock } from "@boxyard/core";
import type { Events } from "../../events.ts";
import type { Admission } from "../create/admission.ts";
import type { Engine, RunInTurn } from "../engine/engine.ts";
import type { Incarnation, Sandbox } from "../engine/sandbox.ts";
import { pause } from "../transitions/pause.ts";
import { resume } from "../transitions/resume.ts";

export interface BootAnewParts {
  readonly engine: Pick<Engine, "inTurn">;
  readonly admission: Pick<Admission, "holdPlace">;
  readonly agent: Pick<AgentClient, "isHealthy">;
  readonly events: Pick<Events, "bootedAnew" | "notBootedAnew">;
  readonly clock: Pick<Clock, "now">;
}

export interface BootAnewHow {
  /** Milliseconds for the agent's answer to the last question, in the sandbox's turn. */
  readonly answerMs: number;
  /** Aborts when the server ends: then no pause begins, a pause in progress is aborted, and no second boot is tried. A first boot goes on. */
  readonly signal: AbortSignal;
}

/** How often the boot is tried: a resource may have been short for a moment. */
const TRIES = 2;

/**
 * Ends the processes of a sandbox whose agent hangs, and boots the sandbox from its disk. It keeps its id, token, metadata, network and the time
 * that it has left; its memory is lost. This is a pause without memory and a resume, in one turn of the sandbox. When the pause fails, the sandbox
 * runs on. When the resume fails, or the server dies in between, the sandbox stays paused with its disk. Never throws. Does nothing when the
 * incarnation has ended, or the agent answers again.
 */
export async function bootAnew(parts: BootAnewParts, sandbox: Sandbox, incarnation: Incarnation, how: BootAnewHow): Promise<void> {
  const { engine, events } = parts;
  const { answerMs, signal } = how;
  try {
    const isDone = await engine.inTurn(sandbox, async (run) => {
      if (sandbox.state !== "running" || sandbox.incarnation !== incarnation) return false;
      // The sandbox's turn may come long after the missed answers, so the agent is asked once more.
      if (incarnation.address && (await parts.agent.isHealthy(incarnation.address, answerMs, signal))) return false;
      if (signal.aborted) return false;
      const { endAt } = sandbox.record;
      await parts.admission.holdPlace(sandbox, async () => {
        await run(pause, { memory: false, isAgentSilent: true }, { signal });
        await boot(run, () => endAt - parts.clock.now(), signal);
      });
      return true;
    });
    if (isDone) events.bootedAnew(sandbox.record);
  } catch (error) {
    if (!sandbox.isEnding) events.notBootedAnew(sandbox.record, sandbox.state, error);
  }
}

async function boot(run: RunInTurn, timeLeftMs: () => number, signal: AbortSignal, tries = TRIES): Promise<void> {
  try {
    await run(resume, { timeoutMs: timeLeftMs(), memory: false }, { hasRoom: true });
  } catch (error) {
    if (tries <= 1 || signal.aborted) throw error;
    await boot(run, timeLeftMs, signal, tries - 1);
  }
}
