import type { Hierarchies } from "../cgroup/hierarchies.ts";
import { countedKernelBytes } from "../cgroup/stats.ts";
import { readUpTo } from "./read-up-to.ts";

/** The machine's memory, from /proc/meminfo. */
export interface MachineMemory {
  readonly totalBytes: number;
  /** What programs can still get, caches that the kernel would give back included. */
  readonly availableBytes: number;
  /** What the kernel itself has taken and does not give back: slabs, stacks, page tables, and pages that no other line shows. */
  readonly kernelBytes: number;
  /** What the kernel has taken and would give back: inodes, names of files. */
  readonly reclaimableBytes: number;
}

const FILE_BYTES = 16 << 10;
const KIB = 1024;
/** The smallest there is: what processors with larger pages keep is then taken for the kernel's, as it would be without a look. */
const PAGE_BYTES = 4_096;
/** What is not the kernel's own, or would be given back. Shared memory is a part of `Cached`. */
const OF_PROGRAMS = ["MemFree", "Buffers", "Cached", "SwapCached", "AnonPages", "SReclaimable", "Hugetlb"] as const;

/** One small file. What only a machine short of memory asks for is found in it then. */
export function memoryNow(read: (path: string) => string = (path) => readUpTo(path, FILE_BYTES)): MachineMemory {
  const text = read("/proc/meminfo");
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1] ?? 0) * KIB;
  const totalBytes = bytes("MemTotal");
  return {
    totalBytes,
    availableBytes: bytes("MemAvailable"),
    get kernelBytes() {
      return OF_PROGRAMS.reduce((left, name) => left - bytes(name), totalBytes);
    },
    get reclaimableBytes() {
      return bytes("SReclaimable");
    },
  };
}

const ZONES_BYTES = 256 << 10;

/**
 * Free memory that no line of /proc/meminfo counts as free: each processor keeps freed pages for itself, up to an eighth of the machine's memory,
 * until memory runs short. To be read when memory seems short, not at every look.
 */
export function sparedBytes(read: (path: string) => string = (path) => readUpTo(path, ZONES_BYTES)): number {
  const counts = read("/proc/zoneinfo").matchAll(/^ +count: +(\d+)$/gm);
  return [...counts].reduce((sum, [, pages]) => sum + Number(pages) * PAGE_BYTES, 0);
}

/** Kernel memory on accounts. What the machine has of inodes and names at the beginning is taken for its own; what is added, for the sandboxes'. */
export function countKernelBytes(hierarchies: Hierarchies): (memory: MachineMemory) => number {
  const own = memoryNow().reclaimableBytes;
  return ({ reclaimableBytes }) => countedKernelBytes(hierarchies, Math.max(0, reclaimableBytes - own));
}
