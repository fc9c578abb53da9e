import { AppError } from "@boxyard/core";
import { usualReserve } from "@boxyard/driver/recordings";

/** What sandboxes leave to the machine. */
export interface Reserve {
  readonly memoryBytes?: number;
  /** Processes and threads. */
  readonly processes?: number;
  /** Free space of the pool; growth is paused when less is free. */
  readonly poolBytes?: number;
  /** Free space of the disk below the pool; growth is paused when less is free. */
  readonly diskBytes?: number;
  /** What the pool's file allocates on that disk before it is needed; 0: nothing. */
  readonly aheadBytes?: number;
}

const MIB = 2 ** 20;
const GIB = 2 ** 30;
/** No sandbox runs with less than these. */
const LEAST_MEMORY = 128 * MIB;
const LEAST_PROCESSES = 64;

export interface MachineSize {
  readonly memoryBytes: number;
  /** The smaller of the kernel's `pid_max` and `threads-max`. */
  readonly processes: number;
}

/** What all sandboxes together may take. Throws `invalid_argument` when the reserve leaves nothing. */
export function shareOfSandboxes(machine: MachineSize, reserve: Reserve = {}): { memoryBytes: number; processes: number } {
  // 512 MiB for the server and the system, and a sixteenth for what grows with the machine: the kernel's tables, its caches.
  const memoryBytes = machine.memoryBytes - (reserve.memoryBytes ?? 512 * MIB + machine.memoryBytes / 16);
  const processes = machine.processes - (reserve.processes ?? Math.max(1024, machine.processes / 8));
  if (memoryBytes < LEAST_MEMORY) throw nothingLeft("BOXYARD_RESERVE_MEMORY", `${Math.floor(machine.memoryBytes / MIB)} MiB of memory`);
  if (processes < LEAST_PROCESSES) throw nothingLeft("BOXYARD_RESERVE_PROCESSES", `${machine.processes} processes`);
  // Limits of memory are in whole pages.
  return { memoryBytes: Math.floor(memoryBytes / MIB) * MIB, processes: Math.floor(processes) };
}

/** Free bytes of the pool below which growth is paused, a whole number. */
export function poolReserve(poolBytes: number, { poolBytes: wanted }: Reserve = {}): number {
  return Math.floor(Math.min(wanted ?? Math.min(Math.max(poolBytes / 20, 512 * MIB), 8 * GIB), poolBytes / 2));
}

/** Free bytes of the disk below the pool under which growth is paused, a whole number. */
export function diskReserve(diskBytes: number, { diskBytes: wanted }: Reserve = {}): number {
  return Math.floor(Math.min(wanted ?? usualReserve(diskBytes), diskBytes / 2));
}

/**
 * Bytes that the pool's file allocates on the disk below beyond what the pool holds, a whole number; 0: none. The least is a chunk for each size
 * class of extents, because btrfs begins one for each.
 */
export function poolAhead(diskBytes: number, reserve: Reserve = {}): number {
  return reserve.aheadBytes ?? Math.floor(Math.min(Math.max(diskReserve(diskBytes, reserve) / 2, 768 * MIB), GIB));
}

function nothingLeft(setting: string, has: string): AppError {
  return new AppError("invalid_argument", `${setting} leaves nothing for sandboxes: this machine has ${has}`, {
    reason: "invalid_setting",
  });
}
