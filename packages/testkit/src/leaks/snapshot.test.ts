import { expect, test } from "bun:test";
import { compareSnapshots } from "./compare.ts";
import { awaitsInit, takeSnapshot } from "./snapshot.ts";

test("a process that carries the marker is seen while it runs", async () => {
  const marker = `BOXYARD_MARKER=${crypto.randomUUID()}`;
  const before = takeSnapshot({ marker });
  const child = Bun.spawn(["sleep", "60"], { env: { PATH: "/usr/bin:/bin", BOXYARD_MARKER: marker.slice("BOXYARD_MARKER=".length) } });
  try {
    const left = compareSnapshots(before, takeSnapshot({ marker })).filter((difference) => difference.kind === "processes");
    expect(left.map((difference) => difference.what)).toContain(`${child.pid}: sleep 60`);
  } finally {
    child.kill();
    await child.exited;
  }
  expect(takeSnapshot({ marker }).processes.filter((line) => line.startsWith(`${child.pid}:`))).toEqual([]);
});

test("an ended process awaits the machine's init only as a child of process 1", () => {
  const stat = (state: string, parent: number) => `8 (a (b) c) ${state} ${parent} 8 8 0 -1 4228428 58 0 0 0 0 0 0 0 20 0 1 0 2042577 0`;
  expect(awaitsInit(stat("Z", 1))).toBe(true);
  // An ended process of our own server is a leak, as is a process that still runs.
  expect(awaitsInit(stat("Z", 77))).toBe(false);
  expect(awaitsInit(stat("S", 1))).toBe(false);
  expect(awaitsInit("")).toBe(false);
});
