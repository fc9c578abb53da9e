import { expect, test } from "bun:test";
import { diskFiles, limitFiles } from "./limits.ts";

const limits = { cpuCount: 1.5, memoryBytes: 1 << 29, diskBytes: 1, maxProcesses: 200 };

test("pure v2: memory without swap, cpu, processes, and bounds on cgroups", () => {
  const at = (file: string) => `/cg/boxyard-x/i1/${file}`;
  expect(limitFiles({ unified: "/cg", v1: {} }, "boxyard-x/i1", limits)).toEqual([
    { path: at("cgroup.max.descendants"), text: "2048" },
    { path: at("cgroup.max.depth"), text: "8" },
    { path: at("memory.max"), text: "536870912" },
    { path: at("memory.swap.max"), text: "0", optional: true },
    { path: at("cpu.max"), text: "150000 100000" },
    { path: at("pids.max"), text: "264" },
  ]);
});

test("hybrid: the same limits where the controllers are, memory before memory with swap", () => {
  const v1 = { memory: "/v1/memory", cpu: "/v1/cpu", cpuacct: "/v1/cpuacct", pids: "/v1/pids" };
  expect(limitFiles({ unified: "/cg", v1 }, "b/i", limits).slice(2)).toEqual([
    { path: "/v1/memory/b/i/memory.limit_in_bytes", text: "536870912" },
    { path: "/v1/memory/b/i/memory.memsw.limit_in_bytes", text: "536870912", optional: true },
    { path: "/v1/memory/b/i/memory.kmem.tcp.limit_in_bytes", text: "67108864", optional: true },
    { path: "/v1/cpu/b/i/cpu.cfs_period_us", text: "100000" },
    { path: "/v1/cpu/b/i/cpu.cfs_quota_us", text: "150000" },
    { path: "/v1/pids/b/i/pids.max", text: "264" },
  ]);
});

test("never asks for less CPU than the kernel can give", () => {
  const files = limitFiles({ unified: "/cg", v1: {} }, "n", { ...limits, cpuCount: 0.001 });
  expect(files.find((file) => file.path.endsWith("cpu.max"))?.text).toBe("1000 100000");
});

test("disk bandwidth: one file on v2, two on v1, none when it is not set", () => {
  const disk = { device: "7:3", bytesPerSecond: 1_000_000 };
  expect(diskFiles({ unified: "/cg", v1: {} }, "b/i", undefined)).toEqual([]);
  expect(diskFiles({ unified: "/cg", v1: {} }, "b/i", disk)).toEqual([
    { path: "/cg/b/i/io.max", text: "7:3 rbps=1000000 wbps=1000000", optional: true },
  ]);
  expect(diskFiles({ unified: "/cg", v1: { blkio: "/blkio" } }, "b/i", disk)).toEqual([
    { path: "/blkio/b/i/blkio.throttle.read_bps_device", text: "7:3 1000000", optional: true },
    { path: "/blkio/b/i/blkio.throttle.write_bps_device", text: "7:3 1000000", optional: true },
  ]);
});
