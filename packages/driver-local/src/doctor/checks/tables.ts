import { readFileSync } from "node:fs";
import { settingsTooLow } from "../../setup/kernel-settings.ts";
import { hasErrno } from "../../sys/libc.ts";
import { type Check, ok, warn } from "../types.ts";

/** A table of the kernel that the whole machine shares: entries in use, and the most that fit. SECURITY.md says what limits each. */
export interface Table {
  readonly name: string;
  readonly used: number;
  readonly most: number;
}

/** Above this share, sandboxes and programs of the machine will soon get no more entries. */
const FULL = 0.8;

/** Reads a file of /proc; undefined where this kernel has no such file. */
type Read = (path: string) => string | undefined;

const readProc: Read = (path) => {
  try {
    return readFileSync(`/proc/${path}`, "utf8");
  } catch (error) {
    if (hasErrno(error, "ENOENT")) return undefined;
    throw error;
  }
};

const first = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text.trim().split(/\s+/)[0]));
const field = (text: string | undefined, pattern: RegExp): number | undefined => {
  const found = text && pattern.exec(text)?.[1];
  return found ? Number(found) : undefined;
};

/** Every table that this kernel shows. `net.*` are those of the machine's own network namespace. */
export function readTables(read: Read = readProc): Table[] {
  const sysctl = (name: string) => first(read(`sys/${name}`));
  const threads = field(read("loadavg"), /^\S+ \S+ \S+ \d+\/(\d+)/);
  const neighbours = read("net/stat/arp_cache")?.split("\n")[1]?.split(/\s+/)[0];
  const sockets = read("net/sockstat");
  const pages = read("sys/net/ipv4/tcp_mem")?.trim().split(/\s+/)[2];
  const rows: readonly (readonly [string, number | undefined, number | undefined])[] = [
    ["open files", sysctl("fs/file-nr"), sysctl("fs/file-max")],
    ["process ids", threads, sysctl("kernel/pid_max")],
    ["threads", threads, sysctl("kernel/threads-max")],
    ["terminals", sysctl("kernel/pty/nr"), sysctl("kernel/pty/max")],
    ["asynchronous I/O", sysctl("fs/aio-nr"), sysctl("fs/aio-max-nr")],
    ["tracked connections", sysctl("net/netfilter/nf_conntrack_count"), sysctl("net/netfilter/nf_conntrack_max")],
    ["neighbours", neighbours ? Number.parseInt(neighbours, 16) : undefined, sysctl("net/ipv4/neigh/default/gc_thresh3")],
    ["TCP memory (pages)", field(sockets, /^TCP: .* mem (\d+)$/m), pages ? Number(pages) : undefined],
    ["orphaned connections", field(sockets, /^TCP: .* orphan (\d+) /m), sysctl("net/ipv4/tcp_max_orphans")],
  ];
  return rows.flatMap(([name, used, most]) => (used === undefined || most === undefined ? [] : [{ name, used, most }]));
}

const percent = ({ used, most }: Table): string => `${Math.floor((100 * used) / most)} %`;

/** Names the tables that are nearly full, then settings that are too low, else the two fullest tables. */
export function judgeTables(tables: readonly Table[], tooLow: readonly { readonly name: string }[]): ReturnType<Check["look"]> {
  const byShare = tables.toSorted((a, b) => b.used / b.most - a.used / a.most);
  const full = byShare.filter(({ used, most }) => used > FULL * most);
  const list = (some: readonly Table[]) =>
    some.map((table) => `${table.name} ${table.used} of ${table.most} (${percent(table)})`).join(", ");
  if (full.length > 0)
    return warn(`nearly full: ${list(full)}`, "End what fills them, or raise their limits (sysctl; SECURITY.md names each)");
  if (tooLow.length > 0)
    return warn(`too low: ${tooLow.map(({ name }) => name).join(", ")}`, "boxyard setup raises them (after every boot)");
  return ok(`no table is nearly full; fullest: ${list(byShare.slice(0, 2))}`);
}

export const kernelTables: Check = { name: "kernel tables", look: () => judgeTables(readTables(), settingsTooLow()) };
