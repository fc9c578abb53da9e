import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Template } from "@boxyard/sdk/template";
import { CHECKOUT, readTestConfig, runProgram } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";

const platform = usePlatform();
const directory = mkdtempSync(join(tmpdir(), "boxyard-rebuild-"));
afterAll(() => rmSync(directory, { recursive: true }));

test("a rebuild of base that fails says why and leaves the old one", async () => {
  const server = { apiUrl: platform().apiUrl, apiKey: platform().apiKey };
  const before = await Template.getInfo("base", server);
  const blocked = join(directory, "file");
  writeFileSync(blocked, "");
  const env = { ...readTestConfig().env, BOXYARD_DATA: platform().dataDir, BOXYARD_CACHE: join(blocked, "cache") };
  const argv = [process.execPath, "packages/cli/src/main.ts", "template", "rebuild", "base"];
  const ended = await runProgram(argv, { cwd: CHECKOUT, env, limitMs: 50_000 });
  expect([ended.exitCode, ended.stdout]).toEqual([1, ""]);
  expect(ended.stderr).toContain("ENOTDIR");
  expect(ended.stderr).toContain("base was not built");
  expect((await Template.getInfo("base", server)).buildId).toBe(before.buildId);
}, 60_000);
