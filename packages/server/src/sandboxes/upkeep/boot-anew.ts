import type { Clock } from "@boxyard/core";
import type { Events } from "../../events.ts";
import type { Engine, RunInTurn } from "../engine/engine.ts";
import type { Incarnation, Sandbox } from "../engine/sandbox.ts";
import { pause } from "../transitions/pause.ts";
import { resume } from "../transitions/resume.ts";

export interface BootAnewParts {
  readonly engine: Pick<Engine, "inTurn">;
  readonly events: Pick<Events, "bootedAnew" | "notBootedAnew">;
  readonly clock: Pick<Clock, "now">;
}

/** A boot from the disk begins with what may have been short for a moment. */
const TRIES = 2;

/**
 * Ends what runs of a sandbox whose agent hangs, and boots it from its disk: with its id, token, metadata, network and the time that it has left.
 * What was in memory is lost. It is a pause without memory and a resume, in one turn of the sandbox: a pause that fails leaves it running, a
 * resume that fails, or a server that dies in between, leaves it paused with its disk. Never throws; does nothing when the incarnation has ended.
 */
export async function bootAnew(parts: BootAnewParts, sandbox: Sandbox, incarnation: Incarnation): Promise<void> {
  const { engine, events } = parts;
  try {
    const isDone = await engine.inTurn(sandbox, async (run) => {
      if (sandbox.state !== "running" || sandbox.incarnation !== incarnation) return false;
      const { endAt } = sandbox.record;
      await run(pause, { memory: false, isAgentSilent: true });
      await boot(run, () => endAt - parts.clock.now());
      return true;
    });
    if (isDone) events.bootedAnew(sandbox.record);
  } catch (error) {
    if (!sandbox.isEnding) events.notBootedAnew(sandbox.record, sandbox.state, error);
  }
}

async function boot(run: RunInTurn, timeLeftMs: () => number, tries = TRIES): Promise<void> {
  try {
    await run(resume, { timeoutMs: timeLeftMs(), memory: false }, { hasRoom: true });
  } catch (error) {
    if (tries <= 1) throw error;
    await boot(run, timeLeftMs, tries - 1);
  }
}
