import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { processStat } from "@boxyard/core/node";
import { bootPlatform, CHECKOUT, eventually, readTestConfig } from "@boxyard/testkit";

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

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)(
  "a bench that %s ends leaves neither server nor sandbox",
  async (signal, code) => {
    const { dataDir } = readTestConfig();
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
