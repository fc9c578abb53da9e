import { readFileSync } from "node:fs";

/** The machine's processors. */
export interface Processors {
  /** Text of /proc/cpuinfo: a block for each processor, followed by an empty line. */
  readonly info: string;
  readonly count: number;
}

export function machineProcessors(): Processors {
  const info = readFileSync("/proc/cpuinfo", "utf8");
  return { info, count: blocksOf(info).length };
}

/** On some boards aarch64's kernel writes one block more, for the whole machine, which has no line `processor`. */
const blocksOf = (info: string) => info.split(/\n\n/).filter((block) => /^processor\s*:/m.test(block));

/** Texts of the files by which programs count processors. */
export interface ProcessorFiles {
  readonly info: string;
  readonly online: string;
  /** They show all processors of the machine, as its own files do. */
  readonly isAll: boolean;
}

/**
 * The files by which programs count processors, for a sandbox that may use `cpuCount` of them at once. The kernel runs the sandbox on any processor
 * of the machine, so `sched_getaffinity` (`nproc`) still names all.
 */
export function processorFiles(cpuCount: number, { info, count }: Processors): ProcessorFiles {
  const shown = Math.min(Math.max(1, Math.ceil(cpuCount)), Math.max(1, count));
  const online = shown === 1 ? "0\n" : `0-${shown - 1}\n`;
  if (shown >= count) return { info, online, isAll: true };
  return { info: `${blocksOf(info).slice(0, shown).join("\n\n")}\n\n`, online, isAll: false };
}
