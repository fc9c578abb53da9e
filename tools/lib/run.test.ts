import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { processesWithMarker } from "./processes.ts";
import { MARKER, run } from "./run.ts";

const env = { PATH: "/usr/bin:/bin" };

test("a result has the output of both streams and the exit code", async () => {
  const ended = await run(["sh", "-c", "echo out; echo err >&2; exit 3"], { env, limitMs: 5_000, marker: crypto.randomUUID() });
  expect(ended).toMatchObject({ exitCode: 3, timedOut: false, output: "out\nerr\n" });
});

test("at the time limit all processes that the command started end, in and outside of its process group, and no others", async () => {
  const marker = crypto.randomUUID();
  const other = Bun.spawn(["sleep", "60"], { env: { ...env, [MARKER]: `${marker}-of-somebody-else` } });
  try {
    const ended = await run(["sh", "-c", "setsid sleep 600 & echo begun; sleep 600"], { env, limitMs: 3_000, marker });
    expect(ended).toMatchObject({ timedOut: true, output: "begun\n" });
    await eventually("what it started has ended", () => processesWithMarker(`${MARKER}=${marker}\0`).length === 0);
    expect(other.exitCode).toBeNull();
  } finally {
    other.kill();
    await other.exited;
  }
}, 20_000);

test("a child that holds the output open does not delay the result", async () => {
  const marker = crypto.randomUUID();
  const ended = await run(["sh", "-c", "setsid sleep 60 & echo done"], { env, limitMs: 50_000, marker });
  expect(ended.output).toBe("done\n");
  expect(ended.ms).toBeLessThan(30_000);
  for (const { pid } of processesWithMarker(`${MARKER}=${marker}\0`)) process.kill(pid, "SIGKILL");
}, 60_000);

test("the processes that a failed command left are ended, those of a successful command are not", async () => {
  for (const [exitCode, left] of [
    [0, 1],
    [1, 0],
  ] as const) {
    const marker = crypto.randomUUID();
    const leave = `setsid sleep 600 & until grep -q '^sleep' /proc/$!/cmdline; do :; done; exit ${exitCode}`;
    await run(["sh", "-c", leave], { env, limitMs: 50_000, marker });
    const processes = () => processesWithMarker(`${MARKER}=${marker}\0`);
    await eventually(`${left} left`, () => processes().length === left);
    for (const { pid } of processes()) process.kill(pid, "SIGKILL");
  }
}, 60_000);
