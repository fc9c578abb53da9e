import { readFileSync } from "node:fs";

/** What the kernel says of a process in `/proc/<pid>/stat` (proc(5)); only the fields that are used. */
export interface ProcessStat {
  /** `R`, `S`, `D`, `T`, `Z` and so on. */
  readonly state: string;
  /** The process that it is a child of now. */
  readonly parentPid: number;
  /** When it started, in clock ticks since boot. Identifies the process, because pids are reused. */
  readonly startTicks: number;
}

/** The status of a process; undefined when there is none, or when it is a zombie. Throws other errors. */
export function processStat(pid: number | "self"): ProcessStat | undefined {
  const stat = readStat(pid);
  return stat === undefined || stat.state === "Z" || stat.state === "X" ? undefined : stat;
}

function readStat(pid: number | "self"): ProcessStat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw error;
  }
}

/** The name in the second field may hold anything, also blanks and brackets: what follows its last bracket is fields 3 and on. */
export function parseStat(text: string): ProcessStat {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const field = (number: number) => Number(fields[number - 3]);
  return { state: fields[0] ?? "", parentPid: field(4), startTicks: field(22) };
}
