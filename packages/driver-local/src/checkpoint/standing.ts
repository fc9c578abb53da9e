import { readFileSync, writeFileSync } from "node:fs";
import { readStats } from "../cgroup/stats.ts";
import { closeConnections } from "../network/close-connections.ts";
import { isAlive } from "../runtime/process.ts";
import { cgroupOf, type LocalParts } from "../sandbox.ts";
import type { LocalSandboxRecord, ProcessIdentity } from "../state/record.ts";
import { hasErrno } from "../sys/libc.ts";
import type { Standing, StandingProcess } from "./wake-cache.ts";

/** The kernel ends these first when memory runs out (proc_pid_oom_score_adj(5)). */
const FIRST_TO_GO = 1000;

/**
 * Keeps the frozen processes of a sandbox whose generation is whole, if there is room: nothing of it can be reached, and its connections are closed as
 * those of a restored one are. False: they are to be ended.
 */
export async function keepStanding(
  parts: LocalParts,
  record: LocalSandboxRecord & { readonly process: ProcessIdentity },
): Promise<boolean> {
  const { wakeCache, runtime, networks } = parts;
  const { sandboxId, incarnation, lease } = record;
  const cgroup = cgroupOf(parts, sandboxId);
  const bytes = readStats(cgroup).memoryUsedBytes;
  if (!wakeCache.takes(bytes) || !closeConnections(record.process.pid)) return false;
  networks.disconnect(lease);
  await runtime.forget(sandboxId);
  wakeCache.add(sandboxId, { incarnation, bytes, processes: cgroup.processes().map(makeFirstToGo) });
  return true;
}

/** True when exactly the processes that were left are there, and still frozen: then none has done anything since. */
export function standsAsLeft(parts: LocalParts, record: LocalSandboxRecord, { incarnation, processes }: Standing): boolean {
  if (record.incarnation !== incarnation || !record.process || !isAlive(record.process)) return false;
  const cgroup = cgroupOf(parts, record.sandboxId);
  const found = new Set(cgroup.processes());
  const isSame = found.size === processes.length && processes.every(({ pid }) => found.has(pid));
  return isSame && cgroup.isFreezeRequested() && cgroup.isFrozen();
}

/** What `keepStanding` changed of the processes is as before. */
export function putBack({ processes }: Standing): void {
  for (const { pid, oomScoreAdj } of processes) writeFileSync(`/proc/${pid}/oom_score_adj`, String(oomScoreAdj));
}

function makeFirstToGo(pid: number): StandingProcess {
  const path = `/proc/${pid}/oom_score_adj`;
  const oomScoreAdj = Number(readFileSync(path, "utf8"));
  try {
    writeFileSync(path, String(FIRST_TO_GO));
  } catch (error) {
    // Of a machine whose server may not: the others are as dear as before.
    if (!hasErrno(error, "EACCES", "EPERM")) throw error;
  }
  return { pid, oomScoreAdj };
}
