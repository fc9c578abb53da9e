import { hasErrno } from "../sys/libc.ts";
import { type ReadUpTo, readUpTo } from "./read-up-to.ts";

/**
 * TCP connections that a program closed before the other side received what was sent. The kernel has one limit for the whole machine
 * (`tcp_max_orphans`); above it, the kernel ends closed connections of any program early, and their unsent data is lost. A sandbox makes such
 * connections by closing connections to a program of its own that does not read.
 */

/** With fewer than this share of the limit, the connections of sandboxes are not counted. */
const MANY = 1 / 2;
/** A sandbox with fewer of them in what is read is not the cause. */
const LEAST_SEEN = 512;
/** How much of a sandbox's table is read: some 1,700 connections. To read all takes longer the more connections there are. */
const TABLE_BYTES = 256 << 10;
const SMALL_BYTES = 4 << 10;

/** States of include/net/tcp_states.h in which a closed connection still has something to send: FIN_WAIT1, LAST_ACK, CLOSING. */
const STATES = new Set(["04", "09", "0B"]);
/** Columns of /proc/net/tcp. A connection with inode 0 belongs to no program. */
const COLUMN = { state: 3, inode: 9 } as const;

/** True when there are too many orphaned connections on the machine. */
export function areManyOrphans(read: ReadUpTo = readUpTo): boolean {
  const there = Number(/^TCP: .*\borphan (\d+)/m.exec(read("/proc/net/sockstat", SMALL_BYTES))?.[1] ?? 0);
  const most = Number(read("/proc/sys/net/ipv4/tcp_max_orphans", SMALL_BYTES).trim());
  return there >= most * MANY;
}

/** Of `pids`, the first processes of sandboxes, the one whose sandbox has most orphaned connections; undefined when none has many. */
export function mostOrphaned(pids: readonly number[], read: ReadUpTo = readUpTo): number | undefined {
  const counted = pids.map((pid) => ({ pid, count: orphansOf(pid, read) })).sort((a, b) => b.count - a.count);
  const [first] = counted;
  return first && first.count >= LEAST_SEEN ? first.pid : undefined;
}

/** Orphaned connections in the network namespace of a process, as far as its table is read. 0 when the process has ended. */
function orphansOf(pid: number, read: ReadUpTo = readUpTo): number {
  let count = 0;
  for (const table of ["tcp", "tcp6"]) {
    for (const line of tableOf(`/proc/${pid}/net/${table}`, read).split("\n").slice(1)) {
      const words = line.trim().split(/\s+/);
      if (words[COLUMN.inode] === "0" && STATES.has(words[COLUMN.state] ?? "")) count++;
    }
  }
  return count;
}

function tableOf(path: string, read: ReadUpTo): string {
  try {
    return read(path, TABLE_BYTES);
  } catch (error) {
    if (hasErrno(error, "ENOENT", "ESRCH", "EINVAL")) return "";
    throw error;
  }
}
