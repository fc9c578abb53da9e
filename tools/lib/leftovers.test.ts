import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../config.ts";
import { removeLeftovers } from "./leftovers.ts";
import type { SuiteContext } from "./suite.ts";

const parent = mkdtempSync(join(tmpdir(), "boxyard-leftovers-"));
afterAll(() => rmSync(parent, { recursive: true, force: true }));

test("test platforms, and data directories of killed runs, are uninstalled; those of a current run and what a server uses stay", async () => {
  const ended = Bun.spawn(["true"]);
  await ended.exited;
  const config = readConfig({ BOXYARD_DATA: join(parent, "data"), BOXYARD_TEST_LANES: "3" });
  const platforms = [join(parent, "data/test"), join(parent, "data/test-3")];
  const ofKilled = join(parent, `boxyard-tests-${ended.pid}-1`, "boxyard-data-a");
  const inUse = join(parent, `boxyard-tests-${ended.pid}-1`, "boxyard-data-b");
  const others = [join(parent, "data/notes"), join(parent, `boxyard-tests-${ended.pid}-1`, "notes")];
  for (const path of [...platforms, ofKilled, inUse, ...others]) mkdirSync(path, { recursive: true });
  const command = (async (argv: readonly string[], { env }: { env: Record<string, string> }) => {
    expect(argv.at(-1)).toBe("uninstall");
    writeFileSync(join(`${env.BOXYARD_DATA}`, "test-fault.json"), "[]");
    const dataDir = `${env.BOXYARD_DATA}`;
    if (dataDir === inUse) return { exitCode: 3, timedOut: false, output: "in use\n", ms: 1, cpuMs: 1 };
    return { exitCode: 0, timedOut: false, output: "", ms: 1, cpuMs: 1 };
  }) as unknown as SuiteContext["command"];
  const lines = await removeLeftovers(config, command, parent);
  expect([...platforms, ofKilled, inUse, ...others].map((path) => existsSync(path))).toEqual([false, false, false, true, true, true]);
  expect(lines.sort()).toEqual(
    [
      ...[...platforms, ofKilled].map((path) => `removed what an earlier run left in ${path}`),
      `${inUse} could not be removed: in use`,
    ].sort(),
  );
});
