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
  /** How long its agent may take to answer, asked once more when it is the sandbox's turn. */
  readonly answerMs: number;
  /** Aborts when the server ends: then no pause begins or goes on, and no second boot is tried. A first boot goes on. */
  readonly signal: AbortSignal;
}

/** A boot from the disk begins with what may have been short for a moment. */
const TRIES = 2;

/**
 * Ends what runs of a sandbox whose agent hangs, and boots it from its disk: with its id, token, metadata, network and the time that it has left.
 * What was in memory is lost. It is a pause without memory and a resume, in one turn of the sandbox: a pause that fails leaves it running, a
 * resume that fails, or a server that dies in between, leaves it paused with its disk. Never throws; does nothing when the incarnation has ended, or
 * its agent answers again.
 */
export async function bootAnew(parts: BootAnewParts, sandbox: Sandbox, incarnation: Incarnation, how: BootAnewHow): Promise<void> {
  const { engine, events } = parts;
  const { answerMs, signal } = how;
  try {
    const isDone = await engine.inTurn(sandbox, async (run) => {
      if (sandbox.state !== "running" || sandbox.incarnation !== incarnation) return false;
      // Its turn may have come much later than the answers that were missed.
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
