import { readlinkSync } from "node:fs";
import type { Holders } from "./unplugged.ts";

/** A process whose network namespace a link was put into. */
export interface AttachedProcess {
  readonly pid: number;
  /** Target of /proc/<pid>/ns/net at that time: a process with the same pid and another namespace is another process. */
  readonly namespace: string;
}

export const attachedProcess = (pid: number): AttachedProcess => ({ pid, namespace: namespaceOf(pid) ?? "" });

/** Whether the processes behind a link still run. */
export function holdersOf(process: AttachedProcess | undefined): Holders {
  if (!process) return "unknown";
  return namespaceOf(process.pid) === process.namespace ? "running" : "ended";
}

/** The kernel's name for the network namespace of a process; undefined when the process has ended. */
function namespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return undefined;
  }
}
