import { readFileSync, rmSync, writeFileSync } from "node:fs";
import type { SandboxId } from "@boxyard/core";
import { readStats } from "../cgroup/stats.ts";
import type { FrozenProcess, FrozenSandbox } from "../checkpoint-store/wake-cache.ts";
import { closeConnections } from "../network/close-connections.ts";
import { isAlive } from "../runtime/process.ts";
import { cgroupOf, type LocalParts } from "../sandbox/parts.ts";
import type { LocalSandboxRecord, ProcessIdentity } from "../state/record.ts";
import { hasErrno } from "../sys/libc.ts";

/** With this value the kernel kills a process first when memory runs out (proc_pid_oom_score_adj(5)). */
const FIRST_TO_GO = 1000;

/**
 * Keeps the frozen processes of a sandbox whose generation is whole in memory, if there is room: disconnects its network, and closes its connections,
 * as a restore does. False when they cannot be kept: the caller ends them.
 */
export async function keepFrozen(parts: LocalParts, record: LocalSandboxRecord & { readonly process: ProcessIdentity }): Promise<boolean> {
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

/** True when exactly the processes that the pause left exist, and are still frozen: then none has run since. */
export function isStillFrozen(parts: LocalParts, record: LocalSandboxRecord, { incarnation, processes }: FrozenSandbox): boolean {
  if (record.incarnation !== incarnation || !record.process || !isAlive(record.process)) return false;
  const cgroup = cgroupOf(parts, record.sandboxId);
  const found = new Set(cgroup.processes());
  const isSame = found.size === processes.length && processes.every(({ pid }) => found.has(pid));
  return isSame && cgroup.isFreezeRequested() && cgroup.isFrozen();
}

/** Gives the processes the `oom_score_adj` that they had before `keepFrozen`. */
export function restoreOomScores({ processes }: FrozenSandbox): void {
  for (const { pid, oomScoreAdj } of processes) writeFileSync(`/proc/${pid}/oom_score_adj`, String(oomScoreAdj));
}

/** Removes the note of a failed trial: the processes go on, or have ended. */
export function forgetFailedTrial({ paths }: Pick<LocalParts, "paths">, id: SandboxId): void {
  rmSync(paths.failedTrial(id), { force: true });
}

function makeFirstToGo(pid: number): FrozenProcess {
  const path = `/proc/${pid}/oom_score_adj`;
  const oomScoreAdj = Number(readFileSync(path, "utf8"));
  try {
    writeFileSync(path, String(FIRST_TO_GO));
  } catch (error) {
    // The server may not change it on this machine: these processes are then not killed before others.
    if (!hasErrno(error, "EACCES", "EPERM")) throw error;
  }
  return { pid, oomScoreAdj };
}
