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

export function memoryNow(read: (path: string) => string = (path) => readUpTo(path, FILE_BYTES)): MachineMemory {
  const fields = new Map(
    read("/proc/meminfo")
      .split("\n")
      .map((line) => line.split(/[:\s]+/, 2) as [string, string]),
  );
  const bytes = (name: string) => Number(fields.get(name) ?? 0) * KIB;
  const totalBytes = bytes("MemTotal");
  return {
    totalBytes,
    availableBytes: bytes("MemAvailable"),
    kernelBytes: OF_PROGRAMS.reduce((left, name) => left - bytes(name), totalBytes),
    reclaimableBytes: bytes("SReclaimable"),
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
