import { AppError, type Step } from "@boxyard/core";
import { isAlive } from "../runtime/process.ts";
import type { StartContext } from "../sandbox.ts";

export const AGENT_PORT = 49_983;
const HEALTHY = 204;
const RETRY_MS = 1;
const ATTEMPT_TIMEOUT_MS = 1_000;

/** Resolves when the agent answers its health check. Fails at once when the sandbox has ended, and after `agentTimeoutMs`. */
export const awaitAgent: Step<StartContext> = {
  name: "awaitAgent",
  async run({ parts, record }, _undo, signal) {
    const url = `http://${record.lease.address}:${AGENT_PORT}/health`;
    const deadline = parts.clock.monotonic() + parts.agentTimeoutMs;
    while (!(await answers(url, signal))) {
      signal.throwIfAborted();
      if (!record.process || !isAlive(record.process)) {
        throw new AppError("failed_precondition", "The sandbox ended before its agent answered", { reason: "agent_exited" });
      }
      if (parts.clock.monotonic() > deadline) {
        throw new AppError("deadline_exceeded", `The sandbox's agent did not answer within ${parts.agentTimeoutMs} ms`, {
          reason: "agent_timeout",
        });
      }
      await parts.clock.sleep(RETRY_MS, signal);
    }
  },
};

async function answers(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(url, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_TIMEOUT_MS)]),
      keepalive: false,
      redirect: "manual",
    });
    // A hostile agent may send a body without end: it is never read.
    await response.body?.cancel();
    return response.status === HEALTHY;
  } catch {
    // Refused, reset or late: the loop decides what that means.
    return false;
  }
}
