import { memoryOf } from "../cgroup/stats.ts";

/** A cgroup's account of its memory: its limit, its usage, and its `memory.stat`, of v1 or v2. */
export interface MemoryAccount {
  readonly limitBytes: number;
  readonly usageBytes: number;
  readonly stat: string;
  readonly isV1: boolean;
}

const KIB = 1024;
/** The kernel's own columns (fs/proc/meminfo.c); larger sandboxes get wider ones. */
const NAME_WIDTH = 16;
const NUMBER_WIDTH = 8;

/**
 * The account as /proc/meminfo would show it on a machine of that size: the lines that programs read. The width of a line never changes for one
 * sandbox, so that a single write replaces the text. `MemTotal - MemAvailable` is what the metrics call used.
 */
export function meminfoText({ limitBytes, usageBytes, stat, isV1 }: MemoryAccount): string {
  const fields = new Map(stat.split("\n").map((line) => line.split(" ", 2) as [string, string]));
  const bytes = (v2: string, v1: string | undefined = v2): number =>
    isV1 ? Number((v1 && fields.get(`total_${v1}`)) || 0) : Number(fields.get(v2) ?? 0);
  const { memoryUsedBytes } = memoryOf(usageBytes, stat, isV1);
  const anonymous = bytes("active_anon") + bytes("inactive_anon");
  const files = bytes("active_file") + bytes("inactive_file");
  const slab = [bytes("slab_reclaimable", undefined), bytes("slab_unreclaimable", undefined)] as const;
  const lines: readonly (readonly [string, number])[] = [
    ["MemTotal", limitBytes],
    ["MemFree", limitBytes - usageBytes],
    ["MemAvailable", limitBytes - memoryUsedBytes],
    ["Buffers", 0],
    ["Cached", bytes("file", "cache")],
    ["SwapCached", 0],
    ["Active", bytes("active_anon") + bytes("active_file")],
    ["Inactive", bytes("inactive_anon") + bytes("inactive_file")],
    ["Active(anon)", bytes("active_anon")],
    ["Inactive(anon)", bytes("inactive_anon")],
    ["Active(file)", bytes("active_file")],
    ["Inactive(file)", bytes("inactive_file")],
    ["Unevictable", bytes("unevictable")],
    ["Mlocked", 0],
    // A sandbox has no swap.
    ["SwapTotal", 0],
    ["SwapFree", 0],
    ["Dirty", bytes("file_dirty", "dirty")],
    ["Writeback", bytes("file_writeback", "writeback")],
    ["AnonPages", bytes("anon", "rss")],
    ["Mapped", bytes("file_mapped", "mapped_file")],
    ["Shmem", bytes("shmem")],
    ["KReclaimable", slab[0]],
    ["Slab", slab[0] + slab[1]],
    ["SReclaimable", slab[0]],
    ["SUnreclaim", slab[1]],
    ["KernelStack", bytes("kernel_stack", undefined)],
    ["PageTables", bytes("pagetables", undefined)],
    ["CommitLimit", limitBytes],
    ["Committed_AS", anonymous + files],
  ];
  const width = Math.max(NUMBER_WIDTH, String(Math.floor(limitBytes / KIB)).length);
  const number = (value: number) => String(Math.floor(Math.min(Math.max(value, 0), limitBytes) / KIB)).padStart(width);
  return lines.map(([name, value]) => `${`${name}:`.padEnd(NAME_WIDTH)}${number(value)} kB\n`).join("");
}
