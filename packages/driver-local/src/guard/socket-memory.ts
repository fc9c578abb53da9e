import { readFileSync } from "node:fs";
import { hasErrno } from "../sys/libc.ts";

/**
 * Memory that waits in sockets and that no cgroup holds, on any kernel: what netlink, packet and raw sockets have received. Each takes the
 * default buffer at most, but the kernel bounds their number only by open files, and an empty one costs a seventieth of a full one.
 */

type Read = (path: string) => string;

const readProc: Read = (path) => {
  try {
    return readFileSync(path, "utf8");
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

/** Bytes that wait in such sockets of the network namespace of process `pid`. */
export function uncountedBytes(pid: number, read: Read = readProc): number {
  const table = (name: string) => read(`/proc/${pid}/net/${name}`);
  const named = (name: string) => (heads: readonly string[]) => heads.indexOf(name);
  // Here two columns share one word of a row, `tx:rx` in hexadecimal; the row's words before them are those of the head.
  const queue = (text: string) => Number.parseInt(text.split(":")[1] ?? "", 16);
  return (
    sum(table("netlink"), named("Rmem"), Number) + sum(table("packet"), named("Rmem"), Number) + sum(table("raw"), named("tx_queue"), queue)
  );
}

/** The first number of a line of /proc/meminfo, in bytes. */
export function memoryNow(read: Read = readProc): { readonly availableBytes: number; readonly totalBytes: number } {
  const text = read("/proc/meminfo");
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1] ?? 0) * 1024;
  return { availableBytes: bytes("MemAvailable"), totalBytes: bytes("MemTotal") };
}
