import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MachineSize } from "../reserve-for-machine.ts";
import { hasErrno } from "../sys/libc.ts";
import type { InstanceCgroups } from "./instance.ts";
import { SOCKET_SHARE } from "./limits.ts";
import { memoryOf } from "./stats.ts";

const KIB = 1024;
/** While less than this share of the memory is used, caches included, the caches are not subtracted. */
const PLENTY = 0.5;

export interface InstanceLimits {
  readonly memoryBytes: number;
  readonly processes: number;
}

const number = (path: string): number => Number(readFileSync(path, "utf8").trim());
const meminfo = (key: string): number =>
  Number(new RegExp(`^${key}:\\s+(\\d+) kB$`, "m").exec(readFileSync("/proc/meminfo", "utf8"))?.[1] ?? 0) * KIB;

export function machineSize(): MachineSize {
  const processes = Math.min(number("/proc/sys/kernel/pid_max"), number("/proc/sys/kernel/threads-max"));
  return { memoryBytes: meminfo("MemTotal"), processes };
}

/**
 * Limits all sandboxes of a server together, in v1 or v2. Swap is off here too. Returns false when sandboxes of an earlier process hold more than
 * a limit that was lowered since: v1 refuses such a limit (EBUSY) and keeps the old one.
 */
export function limitInstance({ hierarchies, directories }: InstanceCgroups, limits: InstanceLimits): boolean {
  const [top = ""] = directories;
  const name = top.slice(hierarchies.unified.length);
  const { v1 } = hierarchies;
  const memory = String(limits.memoryBytes);
  let isSet = true;
  if (v1.memory) {
    const directory = join(v1.memory, name);
    isSet = limitMemoryV1(directory, memory) && limitSocketsV1(directory, Math.floor(limits.memoryBytes * SOCKET_SHARE));
  } else {
    writeFileSync(join(top, "memory.max"), memory);
    writeOptional(join(top, "memory.swap.max"), "0");
  }
  writeFileSync(join(v1.pids ? join(v1.pids, name) : top, "pids.max"), String(limits.processes));
  return isSet;
}

/** The kernel refuses a limit of memory above the limit of memory with swap (EINVAL): to raise both, the second is raised first. */
function limitMemoryV1(directory: string, bytes: string): boolean {
  const [memory, withSwap] = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"].map((name) => join(directory, name)) as [
    string,
    string,
  ];
  try {
    try {
      writeFileSync(memory, bytes);
    } catch (error) {
      if (!hasErrno(error, "EINVAL")) throw error;
      writeOptional(withSwap, bytes);
      writeFileSync(memory, bytes);
    }
    writeOptional(withSwap, bytes);
    return true;
  } catch (error) {
    if (hasErrno(error, "EBUSY")) return false;
    throw error;
  }
}

/** Limits the buffers of TCP and UDP sockets of all sandboxes, which v1 counts apart from memory. */
function limitSocketsV1(directory: string, bytes: number): boolean {
  try {
    writeOptional(join(directory, "memory.kmem.tcp.limit_in_bytes"), String(bytes));
    return true;
  } catch (error) {
    if (hasErrno(error, "EBUSY")) return false;
    throw error;
  }
}

/** Writes a file that some kernels lack (those built without swap accounting). */
function writeOptional(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    if (!hasErrno(error, "ENOENT")) throw error;
  }
}

export interface InstanceUse {
  readonly memoryFreeBytes: number;
  readonly processesFree: number;
}

/** What of the limits is free now; of memory, at most what the machine itself has free. */
export function useOfInstance({ hierarchies, directories }: InstanceCgroups, limits: InstanceLimits): InstanceUse {
  const [top = ""] = directories;
  const name = top.slice(hierarchies.unified.length);
  const { v1 } = hierarchies;
  const directory = v1.memory ? join(v1.memory, name) : top;
  const usage = number(join(directory, v1.memory ? "memory.usage_in_bytes" : "memory.current"));
  // To read memory.stat the kernel adds up the counters of every sandbox, which is slow when there are many.
  const used =
    usage < limits.memoryBytes * PLENTY
      ? usage
      : memoryOf(usage, readFileSync(join(directory, "memory.stat"), "utf8"), v1.memory !== undefined).memoryUsedBytes;
  const processes = number(join(v1.pids ? join(v1.pids, name) : top, "pids.current"));
  return {
    memoryFreeBytes: Math.max(0, Math.min(limits.memoryBytes - used, meminfo("MemAvailable"))),
    processesFree: Math.max(0, limits.processes - processes),
  };
}
