import { readFileSync } from "node:fs";

/** Memory that a process has for itself: what no file backs. 0 when the process has ended. */
export function privateBytes(pid: string | number): number {
  try {
    return Number(/^Anonymous:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
