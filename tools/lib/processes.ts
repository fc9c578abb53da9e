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

/** Every process of this machine that we can see, with its command line. */
export function allProcesses(): ProcessInfo[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), command: read(`/proc/${name}/cmdline`).replaceAll("\0", " ").trim() }));
}

/** Processes that were started with `NAME=value` in their environment; with no value, with any value of it. */
export function processesWithMarker(name: string, value?: string): ProcessInfo[] {
  const wanted = value === undefined ? `\0${name}=` : `\0${name}=${value}\0`;
  return allProcesses().filter(({ pid }) => pid !== process.pid && `\0${read(`/proc/${pid}/environ`)}`.includes(wanted));
}
