import { AppError, type Step } from "@boxyard/core";
import { isHealthy } from "../runtime/health-probe.ts";
import { isAlive } from "../runtime/process.ts";
import type { StartContext } from "../sandbox/parts.ts";
import { IN } from "../sys/file-events.ts";
import { Notice } from "../sys/notice.ts";

export const AGENT_PORT = 49_983;
/** No agent is ready earlier; an earlier check would take CPU time from the agent. */
const EARLIEST_MS = 4;
/** Time after which an agent that has told nothing is looked for anyway. */
const UNTOLD_MS = 100;
/** Pause between tries: short while a quick start is likely, longer when the machine is busy and each try slows the agent down. */
const RETRY_MS = { first: 1, growth: 1.2, longest: 20 };
/** Where nobody waits: the first try finds most agents ready, and the requests of others get the CPU time of the tries before it. */
const UNAWAITED_MS = { earliest: 20, first: 10 };
/** Tries between two checks that the sandbox is still alive: such a check costs as much as a try. */
const TRIES_PER_CHECK = 5;

/** For an agent that is restored. Resolves when it answers its health check. Fails at once when the sandbox has ended, and after `agentTimeoutMs`. */
export const awaitAgent: Step<StartContext> = {
  name: "awaitAgent",
  async run(ctx, _undo, signal) {
    await ctx.parts.clock.sleep(ctx.isUnawaited ? UNAWAITED_MS.earliest : EARLIEST_MS, signal);
    await untilHealthy(ctx, signal);
  },
};

/**
 * As `awaitAgent`, for an agent that starts: it tells when it listens, by opening the directory of its facts (`tell-listening.ts` of the agent).
 * What tells is inside the sandbox, so that nothing is believed: it only ends the pause before a health check.
 */
export const awaitStartedAgent: Step<StartContext> = {
  name: "awaitAgent",
  async run(ctx, _undo, signal) {
    const { fileEvents, paths, clock } = ctx.parts;
    const told = new Notice();
    const endWatch = fileEvents?.watch(paths.hostFacts(ctx.record.sandboxId), IN.OPEN, ({ isSelf }) => isSelf && told.give());
    if (!endWatch) return awaitAgent.run(ctx, _undo, signal);
    try {
      await told.within(UNTOLD_MS, clock, signal);
    } finally {
      endWatch();
    }
    await untilHealthy(ctx, signal);
  },
};

/** As `awaitAgent`, but without the first pause: for an agent that may be ready already. */
export async function untilHealthy({ parts, record, isUnawaited }: StartContext, signal: AbortSignal): Promise<void> {
  const deadline = parts.clock.monotonic() + parts.agentTimeoutMs;
  let pause = isUnawaited ? UNAWAITED_MS.first : RETRY_MS.first;
  for (let tries = 1; !(await isHealthy(record.lease.address, AGENT_PORT, parts.clock, signal)); tries++) {
    if (tries % TRIES_PER_CHECK === 0 && !(record.process && isAlive(record.process))) {
      throw new AppError("failed_precondition", "The sandbox ended before its agent answered", { reason: "agent_exited" });
    }
    if (parts.clock.monotonic() > deadline) {
      const message = `The sandbox's agent did not answer within ${parts.agentTimeoutMs} ms`;
      throw new AppError("deadline_exceeded", message, { reason: "agent_timeout" });
    }
    await parts.clock.sleep(pause, signal);
    pause = Math.min(pause * RETRY_MS.growth, RETRY_MS.longest);
  }
}
