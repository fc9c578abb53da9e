import { readFileSync } from "node:fs";
import { processStat } from "@boxyard/core/process-stat";
import type { ProcessIdentity } from "../state/record.ts";
import { close, hasErrno, pidfdEnded, pidfdOpen } from "../sys/libc.ts";

let ownBootId: string | undefined;

export function bootId(): string {
  ownBootId ??= readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  return ownBootId;
}

/** The identity of a process that exists now; undefined when there is none with this pid. */
export function identify(pid: number): ProcessIdentity | undefined {
  const startTicks = processStat(pid)?.startTicks;
  return startTicks === undefined ? undefined : { pid, startTicks, bootId: bootId() };
}

/** A descriptor of exactly this process, or undefined when it has ended. The caller closes it. */
export function openProcess(identity: ProcessIdentity): number | undefined {
  if (identity.bootId !== bootId()) return undefined;
  let pidfd: number;
  try {
    pidfd = pidfdOpen(identity.pid);
  } catch (error) {
    if (hasErrno(error, "ESRCH", "EINVAL")) return undefined;
    throw error;
  }
  // Opened first, checked then: an open pidfd never refers to another process.
  if (processStat(identity.pid)?.startTicks === identity.startTicks && !pidfdEnded(pidfd)) return pidfd;
  close(pidfd);
  return undefined;
}

export function isAlive(identity: ProcessIdentity): boolean {
  const pidfd = openProcess(identity);
  if (pidfd === undefined) return false;
  close(pidfd);
  return true;
}
