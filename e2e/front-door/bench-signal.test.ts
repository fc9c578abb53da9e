import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { processStat } from "@boxyard/core/node";
import {
  bootPlatform,
  CHECKOUT,
  compareSnapshots,
  eventually,
  readTestConfig,
  runProgram,
  SERVER_PROGRAMS,
  settledDifferences,
  takeSnapshot,
} from "@boxyard/testkit";

const { dataDir, cacheDir, env: inherited } = readTestConfig();
const env = { ...inherited, BOXYARD_DATA: dataDir, BOXYARD_CACHE: cacheDir };

interface ServerFile {
  readonly pid: number;
  readonly startTimeTicks: number;
  readonly url: string;
}

/** The running server of the data directory. */
function serverOf(dataDir: string): ServerFile | undefined {
  try {
    const file = JSON.parse(readFileSync(join(dataDir, "server.json"), "utf8")) as ServerFile;
    return processStat(file.pid)?.startTicks === file.startTimeTicks ? file : undefined;
  } catch {
    return undefined;
  }
}

const role = (...args: string[]) => runProgram([process.execPath, join(CHECKOUT, SERVER_PROGRAMS.plain), ...args], { cwd: CHECKOUT, env });

test("a bench that SIGINT ends on a platform that was not in use leaves no mount, no loop device and no cgroup", async () => {
  expect(await role("release", "--sandboxes")).toMatchObject({ exitCode: 0 });
  const before = takeSnapshot();
  const bench = Bun.spawn([process.execPath, join(CHECKOUT, "bench/run.ts"), "command"], { stdout: "ignore", stderr: "ignore" });
  await eventually("the server of the bench runs", () => serverOf(dataDir), { withinMs: 60_000 });
  expect(compareSnapshots(before, takeSnapshot())).not.toEqual([]);
  bench.kill("SIGINT");
  expect(await bench.exited).toBe(130);
  expect(await settledDifferences(dataDir, before)).toEqual([]);
}, 120_000);

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)(
  "a bench that %s ends leaves neither server nor sandbox",
  async (signal, code) => {
    expect(serverOf(dataDir)).toBeUndefined();
    const bench = Bun.spawn([process.execPath, join(CHECKOUT, "bench/run.ts"), "command"], { stdout: "ignore", stderr: "pipe" });
    const server = await eventually("the server of the bench runs", () => serverOf(dataDir), { withinMs: 60_000 });
    bench.kill(signal);
    expect(await bench.exited).toBe(code);
    expect(await new Response(bench.stderr).text()).toContain(`${signal}: ending the server of the bench`);
    expect(processStat(server.pid)?.startTicks).not.toBe(server.startTimeTicks);
    expect(serverOf(dataDir)).toBeUndefined();
    await using platform = await bootPlatform();
    expect((await platform.api({ path: "/v2/sandboxes" })).body).toEqual([]);
  },
  120_000,
);
