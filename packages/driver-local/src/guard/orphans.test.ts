import { expect, test } from "bun:test";
import { areManyOrphans, mostOrphaned } from "./orphans.ts";

const row = (state: string, inode: number) =>
  `   0: 0100007F:1F90 0100007F:C350 ${state} 00000000:00000000 01:00000014 00000000     0        0 ${inode} 2 0000000000000000 20 4 30 10 -1\n`;
const HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

function machine(orphans: number) {
  const files: Readonly<Record<string, string>> = {
    "/proc/net/sockstat": `sockets: used 9\nTCP: inuse 3 orphan ${orphans} tw 0 alloc 9 mem 1\nUDP: inuse 0 mem 0\n`,
    "/proc/sys/net/ipv4/tcp_max_orphans": "1000\n",
    // Connections that a program holds, and closed ones with nothing to send.
    "/proc/10/net/tcp": HEAD + row("04", 77).repeat(3_000) + row("06", 0).repeat(3_000),
    "/proc/20/net/tcp": HEAD + row("04", 0).repeat(600),
    "/proc/30/net/tcp": HEAD + row("09", 0).repeat(300),
    "/proc/30/net/tcp6": HEAD + row("0B", 0).repeat(400),
  };
  return (path: string) => {
    const text = files[path];
    if (text === undefined) throw Object.assign(new Error(path), { code: "ENOENT" });
    return text;
  };
}

test("the sandbox with most orphaned connections is found once there are half as many as the machine may have", () => {
  expect([499, 500].map((orphans) => areManyOrphans(machine(orphans)))).toEqual([false, true]);
  expect(mostOrphaned([10, 20, 30], machine(500))).toBe(30);
  expect(mostOrphaned([10, 20], machine(500))).toBe(20);
});

test("no sandbox is found when other programs of the machine made the connections, or when the process has ended", () => {
  expect(mostOrphaned([10, 40], machine(1_000))).toBeUndefined();
  expect(mostOrphaned([], machine(1_000))).toBeUndefined();
});

test("the kernel's own files are read", () => {
  expect(areManyOrphans()).toBe(false);
  expect(mostOrphaned([process.pid])).toBeUndefined();
});
