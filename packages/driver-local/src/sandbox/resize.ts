import { join } from "node:path";
import { fromErrno } from "@boxyard/core/node";
import { checkResources, inUse, type ResourceLimits } from "@boxyard/driver";
import type { SandboxCgroup } from "../cgroup/sandbox-cgroup.ts";
import { memoryInUse } from "../cgroup/stats.ts";
import { writeFact } from "../figures/write-fact.ts";
import { writeRecord } from "../state/record.ts";
import { hasErrno } from "../sys/libc.ts";
import { readAccount } from "./account.ts";
import { cgroupOf, type LocalParts } from "./parts.ts";
import type { RunningRecord } from "./sandboxes.ts";
import { resizeSharedMemory } from "./shared-memory.ts";

/**
 * Changes the limits of a running sandbox, in its turn. The record comes first: a new driver that finds it gives the same limits to what the sandbox starts
 * next, and the server repeats a resize that was cut off.
 */
export async function resizeSandbox(parts: LocalParts, record: RunningRecord, resources: ResourceLimits): Promise<void> {
  checkResources(resources);
  try {
    await changeLimits(parts, record, resources);
  } catch (error) {
    throw fromErrno(`resize sandbox ${record.sandboxId}`, error);
  }
}

async function changeLimits(parts: LocalParts, record: RunningRecord, resources: ResourceLimits): Promise<void> {
  const { sandboxId, diskBaseBytes = 0 } = record;
  const cgroup = cgroupOf(parts, sandboxId);
  const { diskUsedBytes } = await readAccount(parts, record);
  if (diskUsedBytes > resources.diskBytes) throw inUse("disk", diskUsedBytes, resources.diskBytes);
  await withMemoryFixed(cgroup, resources.memoryBytes < record.resources.memoryBytes, async () => {
    const usedBytes = memoryInUse(cgroup);
    if (usedBytes > resources.memoryBytes) throw inUse("memory", usedBytes, resources.memoryBytes);
    const quota = record.diskQuotaBytes === undefined ? {} : { diskQuotaBytes: resources.diskBytes - diskBaseBytes };
    await writeRecord(parts.paths.state(sandboxId), { ...record, ...quota, resources });
    try {
      cgroup.changeLimits(resources);
    } catch (error) {
      await writeRecord(parts.paths.state(sandboxId), record);
      // v1 refuses a limit to which it cannot bring the use down.
      throw hasErrno(error, "EBUSY") ? inUse("memory", memoryInUse(cgroup), resources.memoryBytes) : error;
    }
    resizeSharedMemory(record.process, resources.memoryBytes);
  });
  await parts.storage.limitTree(parts.storage.diskPath(sandboxId), resources.diskBytes - diskBaseBytes);
  const facts = parts.paths.hostFacts(sandboxId);
  const { cpuCount, memoryBytes, diskBytes, maxProcesses } = resources;
  writeFact(join(facts, "limits.json"), JSON.stringify({ cpuCount, memoryBytes, diskBytes, maxProcesses }));
  parts.figures?.resize(sandboxId, resources);
}

/** Runs `work`; where memory is taken away, no process allocates meanwhile: on v2 the kernel ends processes above a new limit. */
async function withMemoryFixed(cgroup: SandboxCgroup, isLess: boolean, work: () => Promise<void>): Promise<void> {
  if (!isLess || cgroup.isFreezeRequested()) return work();
  try {
    await cgroup.freeze(true);
    await work();
  } finally {
    // Groups of commands that the agent has frozen stay so.
    cgroup.beginThaw();
  }
}
