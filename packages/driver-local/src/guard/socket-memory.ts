import { hasErrno } from "../sys/libc.ts";
import { readUpTo } from "./read-up-to.ts";

/**
 * Memory in sockets that no kernel charges to a cgroup: what netlink, packet and raw sockets have received. Each holds the default buffer size at
 * most, but the kernel limits their number only by open files; an empty socket takes a seventieth of a full one.
 */

type Read = (path: string) => string;

/**
 * Longer tables (more than some 2,000 sockets) are not read to the end: the read blocks the server for a time that grows with the square of the
 * number of sockets; 5 s for 45,000.
 */
const MOST_CHARACTERS = 256 << 10;

const readProc: Read = (path) => {
  try {
    return readUpTo(path, MOST_CHARACTERS + 1);
  } catch (error) {
    if (hasErrno(error, "ENOENT", "ESRCH", "EINVAL")) return ""; // The process has ended, or its kernel has no such sockets.
    throw error;
  }
};

/** Sum of a column of one of the tables in /proc/<pid>/net, found by its name in the first line. */
function sum(table: string, column: (heads: readonly string[]) => number, value: (text: string) => number): number {
  const [head = "", ...rows] = table.trim().split("\n");
  const at = column(head.trim().split(/\s+/));
  if (at < 0) return 0;
  return rows.reduce((total, row) => total + (value(row.trim().split(/\s+/)[at] ?? "") || 0), 0);
}

const TABLES = ["netlink", "packet", "raw", "raw6"] as const;
type Table = (typeof TABLES)[number];

/** Bytes in such sockets in the network namespace of process `pid`. Infinite when there are too many sockets to read. 0 when it has ended. */
export function uncountedBytes(pid: number, read: Read = readProc): number {
  const tables = Object.fromEntries(TABLES.map((name) => [name, read(`/proc/${pid}/net/${name}`)])) as Record<Table, string>;
  if (Object.values(tables).some((text) => text.length > MOST_CHARACTERS)) return Number.POSITIVE_INFINITY;
  const named = (name: string) => (heads: readonly string[]) => heads.indexOf(name);
  // Here two columns share one word of a row, `tx:rx` in hexadecimal; the row's words before them are those of the head.
  const queue = (text: string) => Number.parseInt(text.split(":")[1] ?? "", 16);
  return (
    sum(tables.netlink, named("Rmem"), Number) +
    sum(tables.packet, named("Rmem"), Number) +
    sum(tables.raw, named("tx_queue"), queue) +
    sum(tables.raw6, named("tx_queue"), queue)
  );
}
