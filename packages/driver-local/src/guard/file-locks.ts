import { readlinkSync } from "node:fs";
import { hasErrno } from "../sys/libc.ts";
import { type ReadUpTo, readUpTo } from "./read-up-to.ts";

/**
 * Locks on ranges of files (fcntl, F_SETLK): any user may have any number of them, 192 bytes each, and no kernel charges them to a cgroup. One
 * process takes 200,000 of them in a second.
 */

/** With fewer locks on the whole machine than this (32 MiB), the locks of sandboxes are not counted. */
const MANY = 175_000;
/** How much of the kernel's list is read: some 5,000 locks, the newest of a processor first. To read all takes longer the more locks there are. */
const LIST_BYTES = 256 << 10;
/** A sandbox with fewer of these locks is not the cause. */
const LEAST_SEEN = 256;
const SLAB_BYTES = 1 << 20;

export interface LockReaders {
  readonly read?: ReadUpTo;
  /** The name of a process's pid namespace; undefined when the process has ended. */
  readonly namespaceOf?: (pid: number) => string | undefined;
}

/**
 * Of `pids`, the first processes of sandboxes, the one whose sandbox holds most locks. Undefined while there are not too many locks on the machine,
 * and when no sandbox holds many.
 */
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

/** A kernel that merges the cache of locks with another one of that size has no line for them: then the list of locks must be read. */
function areMany(slabs: string): boolean {
  const objects = /^file_lock_cache\s+(\d+)/m.exec(slabs)?.[1];
  return objects === undefined || Number(objects) >= MANY;
}

/** Locks by process: `1: POSIX  ADVISORY  WRITE 4711 00:2f:257 0 0`, a lock that a process waits for has an arrow after its number. */
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
