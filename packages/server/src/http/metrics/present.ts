import type { Usage } from "@boxyard/spec/platform";
import type { SandboxUsage } from "../../store/index.ts";

/** Usage as clients see it: seconds with three decimals. */
export function presentUsage({ cpuUsec, memoryMibMs, runningMs, receivedBytes, sentBytes }: SandboxUsage): Usage {
  return {
    cpuSeconds: Math.round(cpuUsec / 1000) / 1000,
    memoryMiBSeconds: Math.round(memoryMibMs) / 1000,
    runningSeconds: Math.round(runningMs) / 1000,
    networkReceivedBytes: receivedBytes,
    networkSentBytes: sentBytes,
  };
}
