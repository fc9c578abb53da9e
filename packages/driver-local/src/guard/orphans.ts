import { hasErrno } from "../sys/libc.ts";
import { type ReadUpTo, readUpTo } from "./read-up-to.ts";

/**
 * TCP connections whose program has closed them before the other side took what was sent. The kernel has one number for all of the machine (`tcp_max_orphans`);
 * beyond it, it ends connections of anybody early, and what they had still to send is lost. A sandbox makes some by closing connections to
 * a program of its own that does not read.
 */

/** While fewer than this share of the number are there, no sandbox is asked for its own. */
const MANY = 1 / 2;
/** With fewer among what is read a sandbox is no part of the matter. */
const LEAST_SEEN = 512;
/** Of a sandbox's connections so much is read: some 1,700. The rest would take as long as there are connections. */
const TABLE_BYTES = 256 << 10;
const SMALL_BYTES = 4 << 10;

/** States of include/net/tcp_states.h in which a closed connection still has something to send: FIN_WAIT1, LAST_ACK, CLOSING. */
const STATES = new Set(["04", "09", "0B"]);
/** Columns of /proc/net/tcp. Without an inode nobody holds it. */
const COLUMN = { state: 3, inode: 9 } as const;

/** True when there are more on the machine than there should be. */
export function areManyOrphans(read: ReadUpTo = readUpTo): boolean {
  const there = Number(/^TCP: .*\borphan (\d+)/m.exec(read("/proc/net/sockstat", SMALL_BYTES))?.[1] ?? 0);
  const most = Number(read("/proc/sys/net/ipv4/tcp_max_orphans", SMALL_BYTES).trim());
  return there >= most * MANY;
}

/** The one of `pids`, first processes of sandboxes, that has most of them; undefined when none has many. */
export function mostOrphaned(pids: readonly number[], read: ReadUpTo = readUpTo): number | undefined {
  const counted = pids.map((pid) => ({ pid, count: orphansOf(pid, read) })).sort((a, b) => b.count - a.count);
  const [first] = counted;
  return first && first.count >= LEAST_SEEN ? first.pid : undefined;
}

/** In the network namespace of a process, as far as is read. 0 when it has ended. */
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
