import { expect, test } from "bun:test";
import { memoryNow, sparedBytes } from "./machine-memory.ts";

test("the machine's memory, in bytes: what is neither free nor a program's nor a cache is the kernel's", () => {
  const lines = [
    "MemTotal: 1000",
    "MemFree: 300",
    "MemAvailable: 500",
    "Buffers: 10",
    "Cached: 200",
    "AnonPages: 250",
    "Shmem: 50",
    "SReclaimable: 40",
  ];
  expect(memoryNow(() => lines.map((line) => `${line} kB\n`).join(""))).toEqual({
    totalBytes: 1000 * 1024,
    availableBytes: 500 * 1024,
    kernelBytes: 200 * 1024,
    reclaimableBytes: 40 * 1024,
  });
});

test("of this machine", () => {
  const { totalBytes, availableBytes, kernelBytes } = memoryNow();
  expect(availableBytes).toBeLessThan(totalBytes);
  expect(kernelBytes).toBeGreaterThan(0);
  expect(kernelBytes).toBeLessThan(totalBytes);
});

test("what processors keep of freed pages is added up over all zones and processors", () => {
  const zone = (pages: number) =>
    `Node 0, zone   Normal\n  pagesets\n    cpu: 0\n              count:    ${pages}\n              high:     1494\n`;
  expect(sparedBytes(() => zone(3) + zone(4))).toBe(7 * 4096);
  expect(sparedBytes()).toBeGreaterThanOrEqual(0);
});
