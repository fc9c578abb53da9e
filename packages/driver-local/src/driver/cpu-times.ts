import type { SandboxId } from "@boxyard/core";
import type { SandboxHandle } from "@boxyard/driver";
import { readCpuUsec } from "../cgroup/stats.ts";
import { cgroupOf, type LocalParts } from "../sandbox/parts.ts";

/** Accounts that are read before other work runs. */
const READ_AT_ONCE = 50;

/** The driver's `cpuTimes`. */
export async function cpuTimesOf(parts: LocalParts, handles: readonly SandboxHandle[]): Promise<ReadonlyMap<SandboxId, number>> {
  const times = new Map<SandboxId, number>();
  for (const [place, { sandboxId }] of handles.entries()) {
    // Each read takes some microseconds, and a thousand of them in one go would keep requests waiting.
    if (place % READ_AT_ONCE === READ_AT_ONCE - 1) await new Promise(setImmediate);
    const usec = readCpuUsec(cgroupOf(parts, sandboxId));
    if (usec !== undefined) times.set(sandboxId, usec);
  }
  return times;
}
