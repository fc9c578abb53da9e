import { availableParallelism } from "node:os";
import { AppError } from "@boxyard/core";
import type { ResourceLimits, SandboxDriver } from "@boxyard/driver";
import { mostProcesses } from "../../most-processes.ts";

/** Most processes and threads of one sandbox; small ones have fewer. */
const MAX_PROCESSES = 2048;
const MIB = 2 ** 20;
/** Whose limit it is that a size is above. */
export const OF_TEMPLATE = "its template allows";

/** What a request says of a sandbox's size; absent members stay as they are. */
export interface Size {
  readonly cpuCount?: number | undefined;
  readonly memoryMB?: number | undefined;
  readonly diskSizeMB?: number | undefined;
}

export function limitsOf({ cpuCount, memoryBytes, diskBytes }: Omit<ResourceLimits, "maxProcesses">): ResourceLimits {
  return { cpuCount, memoryBytes, diskBytes, maxProcesses: mostProcesses(memoryBytes, MAX_PROCESSES) };
}

/** The limits of a sandbox after a request. */
export function resizedTo(present: ResourceLimits, { cpuCount, memoryMB, diskSizeMB }: Size): ResourceLimits {
  return limitsOf({
    cpuCount: cpuCount ?? present.cpuCount,
    memoryBytes: memoryMB === undefined ? present.memoryBytes : memoryMB * MIB,
    diskBytes: diskSizeMB === undefined ? present.diskBytes : diskSizeMB * MIB,
  });
}

/** A size without gaps. */
type FullSize = Readonly<Record<keyof Size, number>>;

/** What one sandbox can have of its machine. */
export async function mostOfMachine(driver: Pick<SandboxDriver, "capacity">): Promise<FullSize> {
  const { memoryLimitBytes, diskLimitBytes } = await driver.capacity();
  return {
    cpuCount: availableParallelism(),
    memoryMB: Math.floor(memoryLimitBytes / MIB),
    diskSizeMB: Math.floor(diskLimitBytes / MIB),
  };
}

/** Throws `invalid_argument`, reason `size_too_large`, with both figures, for what is more than the machine has, or than `limit` says. */
export function checkSize(wanted: Size, most: Size, limit = "this machine has for sandboxes"): void {
  for (const name of ["cpuCount", "memoryMB", "diskSizeMB"] as const) {
    const size = wanted[name] ?? 0;
    const top = most[name] ?? Infinity;
    if (size <= top) continue;
    throw new AppError("invalid_argument", `resources.${name}: ${size} is more than the ${top} that ${limit}`, {
      reason: "size_too_large",
      details: { wanted: size, most: top },
    });
  }
}
