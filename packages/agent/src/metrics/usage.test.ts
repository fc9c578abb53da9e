import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { FakeClock } from "@boxyard/core";
import { CgroupOomCounter } from "./oom-counter.ts";
import { readLimits } from "./sandbox-limits.ts";
import { Usage } from "./usage.ts";

const MIB = 1024 * 1024;
let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-usage-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(directory, path)), { recursive: true });
  writeFileSync(join(directory, path), text);
}

function usage(clock: FakeClock): Usage {
  const hostDir = join(directory, "host");
  return new Usage({
    cgroupRoot: join(directory, "v2"),
    cgroupV1Root: join(directory, "v1"),
    hostDir,
    limits: () => readLimits(hostDir),
    clock,
  });
}

test("cgroup v2: all metrics are those of the sandbox", async () => {
  write("host/limits.json", JSON.stringify({ cpuCount: 2, memoryBytes: 512 * MIB, diskBytes: 1_000, other: "x" }));
  write("host/disk.json", '{"usedBytes":250}');
  write("v2/memory.current", `${100 * MIB}\n`);
  write("v2/memory.stat", `anon 1\nfile ${50 * MIB}\nactive_file ${10 * MIB}\ninactive_file ${30 * MIB}\nslab_reclaimable ${5 * MIB}\n`);
  write("v2/memory.max", "max\n");
  write("v2/cpu.stat", "usage_usec 1000000\nuser_usec 1\n");
  const clock = new FakeClock(1_700_000_000_500);
  const metrics = usage(clock);
  write("v2/cpu.stat", "usage_usec 1500000\n");
  await clock.advance(1_000);
  expect(metrics.read()).toEqual({
    ts: 1_700_000_001,
    cpu_count: 2,
    cpu_used_pct: 25,
    mem_total: 512 * MIB,
    mem_used: 55 * MIB,
    mem_cache: 55 * MIB,
    mem_total_mib: 512,
    mem_used_mib: 55,
    disk_used: 250,
    disk_total: 1_000,
  });
  expect(metrics.read().cpu_used_pct).toBe(0);
});

test("cgroup v1: used where its directories are mounted", async () => {
  write("host/limits.json", '{"cpuCount":1}');
  write("v1/memory/memory.usage_in_bytes", `${90 * MIB}`);
  write("v1/memory/memory.limit_in_bytes", `${256 * MIB}`);
  write("v1/memory/memory.stat", `cache 1\ntotal_cache ${40 * MIB}\ntotal_active_file ${10 * MIB}\ntotal_inactive_file ${20 * MIB}\n`);
  write("v1/cpuacct/cpuacct.usage", "1000000000");
  const clock = new FakeClock();
  const metrics = usage(clock);
  write("v1/cpuacct/cpuacct.usage", "9000000000");
  await clock.advance(1_000);
  const { cpu_used_pct, mem_total, mem_used, mem_cache } = metrics.read();
  expect([cpu_used_pct, mem_total, mem_used, mem_cache]).toEqual([100, 256 * MIB, 60 * MIB, 40 * MIB]);
});

test("without any file the metrics are the machine's totals, and reading does not throw", () => {
  write("host/limits.json", "not json");
  const { cpu_count, mem_total, disk_total } = usage(new FakeClock()).read();
  expect([cpu_count > 0, mem_total > 0, disk_total > 0]).toEqual([true, true, true]);
});

test("a disk with a limit counts as empty until the driver has measured it, and never has the machine's usage", () => {
  write("host/limits.json", '{"diskBytes":1000}');
  const metrics = usage(new FakeClock());
  expect(metrics.read()).toMatchObject({ disk_used: 0, disk_total: 1000 });
  write("host/disk.json", '{"usedBytes":1200}');
  expect(metrics.read()).toMatchObject({ disk_used: 1200, disk_total: 1000 });
});

test("kills for lack of memory are read from both versions of cgroups", () => {
  write("events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n");
  write("control", "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n");
  const counter = (...names: string[]) => new CgroupOomCounter(names.map((name) => join(directory, name))).read();
  expect([counter("events"), counter("none", "control"), counter("none")]).toEqual([2, 7, undefined]);
});

test("a count that begins anew in other cgroups is added to the earlier ones", () => {
  const counter = new CgroupOomCounter([join(directory, "count")]);
  const reads = [2, 0, 1, 1, 0, 3].map((count) => {
    write("count", `oom_kill ${count}\n`);
    return counter.read();
  });
  expect(reads).toEqual([2, 2, 3, 3, 3, 6]);
});

test("a file that was missing at the first read is not read later, because a program may have made it", () => {
  const counter = new CgroupOomCounter([join(directory, "later")]);
  expect(counter.read()).toBeUndefined();
  write("later", "oom_kill 2\n");
  expect(counter.read()).toBeUndefined();
});

test("a FIFO in place of the counter does not block", () => {
  Bun.spawnSync(["mkfifo", join(directory, "pipe")]);
  expect(new CgroupOomCounter([join(directory, "pipe")]).read()).toBeUndefined();
});
