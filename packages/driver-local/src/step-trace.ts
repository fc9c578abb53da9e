import type { StepObserver } from "@boxyard/core";
import { type Logger, ownCpuMs, pidsBelow, processCpuMs } from "@boxyard/core/node";
import type { InstanceCgroups } from "./cgroup/instance.ts";
import type { ForkServer } from "./sys/fork-server/index.ts";
import { trySyscall } from "./sys/libc.ts";

const RUSAGE_CHILDREN = -1;
/** struct rusage: user and system time come first, as seconds and microseconds each; 18 words in all. */
const RUSAGE_WORDS = 18;

/**
 * When the log's level is `trace`: logs a line for each step of the driver, with the CPU time that it took. `server` is this process, `children`
 * are the fork server and the ended children of both (mostly the runtime), `sandbox` is every process that lives in a sandbox. No process is
 * counted twice, so the parts can be added. `tracing` is what the measurement itself took; `server` leaves it out. The counters do not tell
 * sandboxes apart: trace one create at a time.
 */
export function stepTrace(logger: Logger, cgroups: InstanceCgroups, forkServer: Pick<ForkServer, "cpuMs">): StepObserver {
  if (!logger.isLevelEnabled("trace")) return {};
  const [unified = ""] = cgroups.directories;
  let tracing = 0;
  const meter = () => {
    const before = ownCpuMs();
    const sandbox = pidsBelow(unified).reduce((sum, pid) => sum + processCpuMs(pid), 0);
    const reading = { server: before - tracing, children: childrenCpuMs() + forkServer.cpuMs(), sandbox, tracing };
    tracing += ownCpuMs() - before;
    return reading;
  };
  return {
    meter,
    onStep: ({ name, startedAt, durationMs, cpuMs }) =>
      logger.trace({ by: "driver", step: name, startedAt, ms: durationMs, cpuMs }, "step"),
  };
}

function childrenCpuMs(): number {
  const usage = new BigInt64Array(RUSAGE_WORDS);
  trySyscall("getrusage", RUSAGE_CHILDREN, usage);
  const [userS = 0n, userUs = 0n, systemS = 0n, systemUs = 0n] = usage;
  return Number((userS + systemS) * 1_000_000n + userUs + systemUs) / 1000;
}
