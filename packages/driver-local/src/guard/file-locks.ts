import { readlinkSync } from "node:fs";
import { hasErrno } from "../sys/libc.ts";
import { type ReadUpTo, readUpTo } from "./read-up-to.ts";

/**
 * Locks on ranges of files (fcntl, F_SETLK): any user may have any number of them, 192 bytes each, and no cgroup holds them on any kernel. One
 * process takes 200,000 of them in a second.
 */

/** Below this many locks on the whole machine (32 MiB) no sandbox is asked for its own. */
const MANY = 175_000;
/** Of the kernel's list so much is read: some 5,000 locks, the newest of a processor first. The rest would take as long as there are locks. */
const LIST_BYTES = 256 << 10;
/** With fewer among these a process is no part of the matter. */
const LEAST_SEEN = 256;
const SLAB_BYTES = 1 << 20;

export interface LockReaders {
  readonly read?: ReadUpTo;
  /** What names the pid namespace of a process; undefined when it has ended. */
  readonly namespaceOf?: (pid: number) => string | undefined;
}

/** The one of `pids`, first processes of sandboxes, whose sandbox holds most locks, when there are more on the machine than it should have. */
export function mostLocking(
  pids: readonly number[],
  { read = readUpTo, namespaceOf = pidNamespaceOf }: LockReaders = {},
): number | undefined {
  if (!areMany(read("/proc/slabinfo", SLAB_BYTES))) return undefined;
  const seen = new Map<string, number>();
  for (const [pid, count] of holders(read("/proc/locks", LIST_BYTES))) {
    const name = namespaceOf(pid);
    if (name !== undefined) seen.set(name, (seen.get(name) ?? 0) + count);
  }
  const counted = pids.map((pid) => ({ pid, count: seen.get(namespaceOf(pid) ?? "") ?? 0 }));
  const most = counted.sort((a, b) => b.count - a.count)[0];
  return most && most.count >= LEAST_SEEN ? most.pid : undefined;
}

/** A kernel that keeps them together with other things of their size has no line for them: then nobody knows, and the list must tell. */
function areMany(slabs: string): boolean {
  const objects = /^file_lock_cache\s+(\d+)/m.exec(slabs)?.[1];
  return objects === undefined || Number(objects) >= MANY;
}

/** Locks by process: `1: POSIX  ADVISORY  WRITE 4711 00:2f:257 0 0`, and with an arrow after the number for one that waits. */
function holders(list: string): Map<number, number> {
  const counts = new Map<number, number>();
  for (const line of list.split("\n")) {
    const pid = Number(line.trim().split(/\s+/).at(-4));
    if (pid > 0) counts.set(pid, (counts.get(pid) ?? 0) + 1);
  }
  return counts;
}

function pidNamespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch (error) {
    if (hasErrno(error, "ENOENT", "ESRCH")) return undefined;
    throw error;
  }
}
