import { readdirSync, readFileSync } from "node:fs";

export interface ProcessInfo {
  readonly pid: number;
  readonly command: string;
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Every process in `/proc`, with its command line. */
export function allProcesses(): ProcessInfo[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), command: read(`/proc/${name}/cmdline`).replaceAll("\0", " ").trim() }));
}

/** Processes that were started with an environment entry that begins with `marker`. */
export function processesWithMarker(marker: string): ProcessInfo[] {
  return allProcesses().filter(({ pid }) => pid !== process.pid && `\0${read(`/proc/${pid}/environ`)}`.includes(`\0${marker}`));
}
