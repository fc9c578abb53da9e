import { expect, test } from "bun:test";
import { compareSnapshots } from "./compare.ts";
import { takeSnapshot } from "./snapshot.ts";

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
