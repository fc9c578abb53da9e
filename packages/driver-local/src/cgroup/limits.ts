import { join } from "node:path";
import type { ResourceLimits } from "@boxyard/driver";
import type { Hierarchies } from "./hierarchies.ts";

const PERIOD_USEC = 100_000;
/** The kernel's smallest quota. */
const LEAST_QUOTA_USEC = 1_000;
/** Below the kernel's largest quota (2^44), and more than the processors of any machine can use. */
const MAX_QUOTA_USEC = 2 ** 40;
/** The agent makes a cgroup for each command; more than this is an attack on the kernel's memory. */
const MAX_DESCENDANTS = 2_048;
const MAX_DEPTH = 8;
/** Added to the limit for commands: init, the agent's threads, `launch`, and what `launch` forks before a command is counted. */
const OWN_PROCESSES = 64;

/**
 * Size of the buffers of TCP and UDP sockets on v1, as a share of the memory limit. v1 does not count them as memory, and has no limit for them by
 * default.
 */
export const SOCKET_SHARE = 1 / 8;
const LEAST_SOCKET_BYTES = 16 << 20;

export interface CgroupFile {
  readonly path: string;
  readonly text: string;
  /** The file exists only with some kernel configurations (swap accounting). */
  readonly optional?: true;
}

/** What each sandbox may read, and what it may write, of the disk that holds them all. */
export interface DiskBandwidth {
  /** `7:0`: major and minor number of the disk. */
  readonly device: string;
  readonly bytesPerSecond: number;
}

/** The files that limit the disk bandwidth. They are optional: kernels without throttling lack them, which `doctor` reports. */
export function diskFiles({ unified, v1 }: Hierarchies, name: string, disk: DiskBandwidth | undefined): readonly CgroupFile[] {
  if (!disk) return [];
  const { device, bytesPerSecond } = disk;
  if (!v1.blkio)
    return [{ path: join(unified, name, "io.max"), text: `${device} rbps=${bytesPerSecond} wbps=${bytesPerSecond}`, optional: true }];
  const directory = join(v1.blkio, name);
  return ["read", "write"].map((verb) => ({
    path: join(directory, `blkio.throttle.${verb}_bps_device`),
    text: `${device} ${bytesPerSecond}`,
    optional: true,
  }));
}

/**
 * The files to write for these limits, in order: on v1, memory before memory with swap, or the kernel refuses. Swap is always off
 * (docs/decisions.md, Swap).
 */
export function limitFiles(hierarchies: Hierarchies, name: string, limits: ResourceLimits): readonly CgroupFile[] {
  const { unified, v1 } = hierarchies;
  const v2 = (file: string, text: string): CgroupFile => ({ path: join(unified, name, file), text });
  const quota = Math.min(MAX_QUOTA_USEC, Math.max(LEAST_QUOTA_USEC, Math.round(limits.cpuCount * PERIOD_USEC)));
  const files: CgroupFile[] = [v2("cgroup.max.descendants", String(MAX_DESCENDANTS)), v2("cgroup.max.depth", String(MAX_DEPTH))];
  if (v1.memory) {
    const directory = join(v1.memory, name);
    files.push({ path: join(directory, "memory.limit_in_bytes"), text: String(limits.memoryBytes) });
    files.push({ path: join(directory, "memory.memsw.limit_in_bytes"), text: String(limits.memoryBytes), optional: true });
    const sockets = Math.max(LEAST_SOCKET_BYTES, Math.floor(limits.memoryBytes * SOCKET_SHARE));
    files.push({ path: join(directory, "memory.kmem.tcp.limit_in_bytes"), text: String(sockets), optional: true });
  } else {
    files.push(v2("memory.max", String(limits.memoryBytes)), { ...v2("memory.swap.max", "0"), optional: true });
  }
  if (v1.cpu) {
    const directory = join(v1.cpu, name);
    files.push(
      { path: join(directory, "cpu.cfs_period_us"), text: String(PERIOD_USEC) },
      { path: join(directory, "cpu.cfs_quota_us"), text: String(quota) },
    );
  } else {
    files.push(v2("cpu.max", `${quota} ${PERIOD_USEC}`));
  }
  const processes = String(limits.maxProcesses + OWN_PROCESSES);
  files.push(v1.pids ? { path: join(v1.pids, name, "pids.max"), text: processes } : v2("pids.max", processes));
  return files;
}
