import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findHierarchies } from "./hierarchies.ts";
import { countedKernelBytes, memoryOf } from "./stats.ts";

test("used memory is without cached files, with shared memory, in v1 and v2", () => {
  const v1 = "cache 9\nactive_file 9\ntotal_cache 50\ntotal_shmem 20\ntotal_active_file 10\ntotal_inactive_file 20\n";
  expect(memoryOf(100, v1, true)).toEqual({ memoryUsedBytes: 70, memoryCacheBytes: 50 });
  const v2 = "file 50\nshmem 20\nactive_file 10\ninactive_file 20\nslab_reclaimable 5\n";
  expect(memoryOf(100, v2, false)).toEqual({ memoryUsedBytes: 65, memoryCacheBytes: 55 });
});

test("used memory is never negative, although its counters are read one after the other", () => {
  expect(memoryOf(10, "active_file 10\ninactive_file 20\n", false).memoryUsedBytes).toBe(0);
});

test("kernel memory on accounts is without what the kernel would give back, in v1, in v2, and in v2 of kernels without a sum", () => {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-stats-"));
  const counted = (file: string, text: string, v1: { memory?: string }) => {
    writeFileSync(join(directory, file), text);
    return countedKernelBytes({ ...findHierarchies(), unified: directory, v1 }, 300);
  };
  try {
    expect(counted("memory.kmem.usage_in_bytes", "1000\n", { memory: directory })).toBe(700);
    expect(counted("memory.kmem.usage_in_bytes", "100\n", { memory: directory })).toBe(0);
    const parts = "kernel_stack 10\npagetables 20\npercpu 5\nsock 7\nslab_reclaimable 100\nslab_unreclaimable 40\n";
    expect(counted("memory.stat", `anon 9\nkernel 180\n${parts}`, {})).toBe(87);
    expect(counted("memory.stat", `anon 9\n${parts}`, {})).toBe(82);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
