import { expect, test } from "bun:test";
import { uncountedBytes } from "./socket-memory.ts";

const FILES: Readonly<Record<string, string>> = {
  "/proc/7/net/netlink": `sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode
000000009734b6c6 0   0          00000000 0        0        0     2        0        2881278
000000008be6a34c 0   4711       00000000 212992   0        0     2        9        2881284
000000003d51ed1b 16  4711       00000000 1000     0        0     2        0        2881286
`,
  "/proc/7/net/packet": `sk               RefCnt Type Proto  Iface R Rmem   User   Inode
0000000000000000 3      3    0003   0     1 768    0      17
`,
  "/proc/7/net/raw": `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
   1: 00000000:0001 00000000:0000 07 00000000:00000010 00:00000000 00000000     0        0 99 2 0000000000000000 0
`,
  "/proc/7/net/raw6": `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  253: 00000000000000000000000000000000:00FD 00000000000000000000000000000000:0000 07 00000000:00030D40 00:00000000 00000000     0        0 99 2 0000000000000000 0
`,
};

test("what waits in netlink, packet and raw sockets is added up from the kernel's tables", () => {
  expect(uncountedBytes(7, (path) => FILES[path] ?? "")).toBe(212_992 + 1000 + 768 + 16 + 200_000);
});

test("more sockets than the server can read without delay count as too many, whatever they hold", () => {
  const many = FILES["/proc/7/net/raw"] + "   1: 00000000:0001 00000000:0000 07 00000000:00000000\n".repeat(10_000);
  for (const name of ["netlink", "packet", "raw", "raw6"]) {
    expect(uncountedBytes(7, (path) => (path.endsWith(`/${name}`) ? many : (FILES[path] ?? "")))).toBe(Number.POSITIVE_INFINITY);
  }
});

test("a process that has ended holds nothing; this one's tables can be read", () => {
  expect(uncountedBytes(8, (path) => FILES[path] ?? "")).toBe(0);
  expect(uncountedBytes(process.pid)).toBeGreaterThanOrEqual(0);
  expect(uncountedBytes(2 ** 22 + 1)).toBe(0);
});
