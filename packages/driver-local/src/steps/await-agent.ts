import { AppError, type Step } from "@boxyard/core";
import { isHealthy } from "../runtime/health-probe.ts";
import { isAlive } from "../runtime/process.ts";
import type { StartContext } from "../sandbox.ts";

export const AGENT_PORT = 49_983;
/** Pause between tries: short while a quick start is likely, longer when the machine is busy and every look costs. */
const RETRY_MS = { first: 1, growth: 1.1, longest: 20 };

/** Resolves when the agent answers its health check. Fails at once when the sandbox has ended, and after `agentTimeoutMs`. */
export const awaitAgent: Step<StartContext> = {
  name: "awaitAgent",
  async run({ parts, record }, _undo, signal) {
    const deadline = parts.clock.monotonic() + parts.agentTimeoutMs;
    let pause = RETRY_MS.first;
    while (!(await isHealthy(record.lease.address, AGENT_PORT, parts.clock, signal))) {
      if (!record.process || !isAlive(record.process)) {
        throw new AppError("failed_precondition", "The sandbox ended before its agent answered", { reason: "agent_exited" });
      }
      if (parts.clock.monotonic() > deadline) {
        const message = `The sandbox's agent did not answer within ${parts.agentTimeoutMs} ms`;
        throw new AppError("deadline_exceeded", message, { reason: "agent_timeout" });
      }
      await parts.clock.sleep(pause, signal);
      pause = Math.min(pause * RETRY_MS.growth, RETRY_MS.longest);
    }
  },
};
