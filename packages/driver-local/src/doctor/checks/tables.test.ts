import { expect, test } from "bun:test";
import { judgeTables, readTables } from "./tables.ts";

const FILES: Readonly<Record<string, string>> = {
  "sys/fs/file-nr": "660\t0\t2466170\n",
  "sys/fs/file-max": "2466170\n",
  loadavg: "0.10 0.20 0.30 2/150 4711\n",
  "sys/kernel/pid_max": "1000\n",
  "sys/kernel/pty/nr": "90\n",
  "sys/kernel/pty/max": "100\n",
  "net/stat/arp_cache": "entries  allocs\n00000400 00000001\n",
  "sys/net/ipv4/neigh/default/gc_thresh3": "2048\n",
  "net/sockstat": "sockets: used 5\nTCP: inuse 3 orphan 7 tw 0 alloc 9 mem 11\nUDP: inuse 0 mem 0\n",
  "sys/net/ipv4/tcp_mem": "100\t200\t300\n",
};

test("tables are read as the kernel shows them; tables that it does not have are left out", () => {
  expect(readTables((path) => FILES[path])).toEqual([
    { name: "open files", used: 660, most: 2_466_170 },
    { name: "process ids", used: 150, most: 1000 },
    { name: "terminals", used: 90, most: 100 },
    { name: "neighbours", used: 1024, most: 2048 },
    { name: "TCP memory (pages)", used: 11, most: 300 },
  ]);
});

test("this machine's tables can be read", () => {
  const names = readTables().map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["open files", "process ids", "threads", "terminals", "neighbours", "TCP memory (pages)"]));
});

test("a table that is nearly full is named first, then settings that set-up raises, else the fullest tables", () => {
  const half = { name: "a", used: 50, most: 100 };
  const little = { name: "c", used: 1, most: 100 };
  expect(judgeTables([little, { name: "b", used: 90, most: 100 }, half], [])).toMatchObject({
    status: "warn",
    found: "nearly full: b 90 of 100 (90 %)",
  });
  expect(judgeTables([little], [{ name: "fs.file-max" }])).toMatchObject({ status: "warn", found: "too low: fs.file-max" });
  expect(judgeTables([little, half], [])).toEqual({
    status: "ok",
    found: "no table is nearly full; fullest: a 50 of 100 (50 %), c 1 of 100 (1 %)",
  });
});
