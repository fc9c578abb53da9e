import type { AgentClient } from "@boxyard/agent-client";
import type { Engine } from "../engine/engine.ts";
import type { Incarnation, Sandbox } from "../engine/sandbox.ts";
import { reboot } from "../transitions/reboot.ts";

export interface RebootParts {
  readonly engine: Pick<Engine, "inTurn">;
  readonly agent: Pick<AgentClient, "isHealthy">;
}

export interface RebootHow {
  /** Milliseconds for the agent's answer to the last question, in the sandbox's turn. */
  readonly answerMs: number;
  /** Aborts when the server ends (`RebootInput`). */
  readonly signal: AbortSignal;
}

/**
 * Runs the transition `reboot` on a sandbox whose agent hangs. Never throws: the transition logs failures. Does nothing if the incarnation has
 * ended, or the agent answers again.
 */
export async function bootUnresponsive(parts: RebootParts, sandbox: Sandbox, incarnation: Incarnation, how: RebootHow): Promise<void> {
  const { answerMs, signal } = how;
  const inTurn = parts.engine.inTurn(sandbox, async (run) => {
    if (sandbox.state !== "running" || sandbox.incarnation !== incarnation) return;
    // The sandbox's turn may come long after the missed answers, so the agent is asked once more.
    if (incarnation.address && (await parts.agent.isHealthy(incarnation.address, answerMs, signal))) return;
    if (!signal.aborted) await run(reboot, { stop: signal });
  });
  await inTurn.catch(() => {});
}
