import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig, withTemporaryDirectory } from "../config.ts";
import type { SuiteContext } from "./suite.ts";
import { tidyUp } from "./tidy.ts";

let directory = "";
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-tidy-"));
});
afterAll(() => rmSync(directory, { recursive: true }));

test.each([
  [true, ["release of the lane", "setup of the lane", "release of its own"]],
  [false, ["release of the lane", "setup of the lane"]],
])("what a failed file left is removed; data directories only if no other file runs (%p)", async (isOnly, expected) => {
  const own = join(directory, "boxyard-data-left");
  const others = join(directory, "another");
  for (const path of [own, others]) mkdirSync(path, { recursive: true });
  const calls: string[] = [];
  const command = async (argv: readonly string[], { env }: { env: Record<string, string> }) => {
    calls.push(`${argv[2]} of ${env.BOXYARD_DATA === own ? "its own" : env.BOXYARD_DATA}`);
    return { exitCode: 1, timedOut: false, output: "", ms: 1, cpuMs: 1 };
  };
  const context = { config: withTemporaryDirectory(readConfig({}), directory), command } as unknown as SuiteContext;
  await tidyUp(context, { BOXYARD_DATA: "the lane" }, isOnly);
  expect(calls).toEqual(expected);
  expect([existsSync(own), existsSync(others)]).toEqual([!isOnly, true]);
});
