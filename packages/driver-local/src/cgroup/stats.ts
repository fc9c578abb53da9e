import { readFileSync } from "node:fs";
import { join } from "node:path";
import { hasErrno } from "../sys/libc.ts";
import type { Hierarchies } from "./hierarchies.ts";
import type { SandboxCgroup } from "./sandbox-cgroup.ts";

export interface CgroupStats {
  readonly cpuUsageUsec: number;
  /** Without what the kernel reclaims when memory runs short: cached files and, on v2, its own caches. Shared memory counts as used. */
  readonly memoryUsedBytes: number;
  readonly memoryCacheBytes: number;
  readonly processes: number;
  readonly oomKills: number;
}

const read = (directory: string, file: string): string => readFileSync(join(directory, file), "utf8");

/** The number after `key` in a "key value" file; 0 when absent. */
function field(text: string, key: string): number {
  const match = new RegExp(`^${key} (\\d+)$`, "m").exec(text);
  return match ? Number(match[1]) : 0;
}

type Memory = Pick<CgroupStats, "memoryUsedBytes" | "memoryCacheBytes">;

/** The same figures as the agent's metrics (`Usage` there), from a cgroup's usage and its `memory.stat`. */
export function memoryOf(usage: number, stat: string, isV1: boolean): Memory {
  const prefix = isV1 ? "total_" : "";
  // Not `cache` or `file`: both include shared memory, which the kernel does not reclaim.
  const files = field(stat, `${prefix}active_file`) + field(stat, `${prefix}inactive_file`);
  const slab = isV1 ? 0 : field(stat, "slab_reclaimable");
  const cache = field(stat, isV1 ? "total_cache" : "file") + slab;
  return { memoryUsedBytes: Math.max(0, usage - files - slab), memoryCacheBytes: cache };
}

/** The kernel's account of a sandbox's memory, from v1 or v2. */
export function readMemoryAccount(cgroup: SandboxCgroup): { readonly usageBytes: number; readonly stat: string; readonly isV1: boolean } {
  const v1 = cgroup.v1Directory("memory");
  const usageBytes = Number(v1 ? read(v1, "memory.usage_in_bytes") : read(cgroup.top, "memory.current"));
  return { usageBytes, stat: read(v1 ?? cgroup.top, "memory.stat"), isV1: v1 !== undefined };
}

/** Memory of a sandbox that the kernel cannot reclaim: a limit below it would end processes. */
export const memoryInUse = (cgroup: SandboxCgroup): number => memory(cgroup).memoryUsedBytes;

function memory(cgroup: SandboxCgroup): Memory {
  const { usageBytes, stat, isV1 } = readMemoryAccount(cgroup);
  return memoryOf(usageBytes, stat, isV1);
}

function oomKills(cgroup: SandboxCgroup): number {
  const v1 = cgroup.v1Directory("memory");
  return v1 ? field(read(v1, "memory.oom_control"), "oom_kill") : field(read(cgroup.top, "memory.events"), "oom_kill");
}

/** Reads the kernel's counters. Fails with ENOENT when the sandbox is gone. */
export function readStats(cgroup: SandboxCgroup): CgroupStats {
  return {
    // Every v2 cgroup counts CPU time, whether the controller is in v1 or v2.
    cpuUsageUsec: field(read(cgroup.top, "cpu.stat"), "usage_usec"),
    ...memory(cgroup),
    processes: Number(read(cgroup.v1Directory("pids") ?? cgroup.top, "pids.current")),
    oomKills: oomKills(cgroup),
  };
}

/** CPU time of a sandbox in microseconds; undefined when its cgroup is gone. Reads one file. */
export function readCpuUsec(cgroup: SandboxCgroup): number | undefined {
  try {
    // Its first line is `usage_usec N`.
    return Number.parseInt(read(cgroup.top, "cpu.stat").slice("usage_usec ".length), 10);
  } catch (error) {
    if (hasErrno(error, "ENOENT", "ENODEV")) return undefined;
    throw error;
  }
}

/** 0 when the cgroup is gone. */
export function readOomKills(cgroup: SandboxCgroup): number {
  try {
    return oomKills(cgroup);
  } catch (error) {
    if (hasErrno(error, "ENOENT", "ENODEV")) return 0;
    throw error;
  }
}

/** Time that the processes of a sandbox have spent in the kernel. 0 when the cgroup is gone. */
export function readSystemUsec(cgroup: SandboxCgroup): number {
  try {
    return field(read(cgroup.top, "cpu.stat"), "system_usec");
  } catch (error) {
    if (hasErrno(error, "ENOENT", "ENODEV")) return 0;
    throw error;
  }
}

/** Memory of the kernel's own, and of sockets, that is on the account of any cgroup of the machine, without what the kernel would give back. */
export function countedKernelBytes({ unified, v1 }: Hierarchies, reclaimableBytes: number): number {
  // v1 has one figure for both kinds. Of what the kernel would give back, `reclaimableBytes` is at most on accounts.
  if (v1.memory) return Math.max(0, Number(read(v1.memory, "memory.kmem.usage_in_bytes")) - reclaimableBytes);
  const stat = read(unified, "memory.stat");
  const own = ["kernel_stack", "pagetables", "sec_pagetables", "percpu", "vmalloc", "slab_unreclaimable"];
  const sum = field(stat, "kernel") - field(stat, "slab_reclaimable");
  return (sum > 0 ? sum : own.reduce((total, key) => total + field(stat, key), 0)) + field(stat, "sock");
}
