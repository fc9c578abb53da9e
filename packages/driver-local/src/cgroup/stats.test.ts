import { expect, test } from "bun:test";
import { memoryOf } from "./stats.ts";

test("used memory is without cached files, with shared memory, in v1 and v2", () => {
  const v1 = "cache 9\nactive_file 9\ntotal_cache 50\ntotal_shmem 20\ntotal_active_file 10\ntotal_inactive_file 20\n";
  expect(memoryOf(100, v1, true)).toEqual({ memoryUsedBytes: 70, memoryCacheBytes: 50 });
  const v2 = "file 50\nshmem 20\nactive_file 10\ninactive_file 20\nslab_reclaimable 5\n";
  expect(memoryOf(100, v2, false)).toEqual({ memoryUsedBytes: 65, memoryCacheBytes: 55 });
});

test("used memory is never negative, although its counters are read one after the other", () => {
  expect(memoryOf(10, "active_file 10\ninactive_file 20\n", false).memoryUsedBytes).toBe(0);
});
