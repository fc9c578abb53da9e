import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { claimRange } from "../network/index.ts";
import { instanceName, writeInstance } from "./instance-file.ts";
import type { SetupConfig } from "./types.ts";
import { isInstalled, uninstall } from "./uninstall.ts";

let directory: string;
let config: SetupConfig;
let runDirectory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-uninstall-"));
  const dataDir = join(directory, "data");
  runDirectory = join(directory, "run");
  mkdirSync(join(dataDir, "sandboxes"), { recursive: true });
  mkdirSync(runDirectory);
  config = { dataDir, cacheDir: join(dataDir, "cache"), env: {} };
  writeInstance(dataDir, { version: 1, instance: instanceName(dataDir), network: "10.9.0.0/16", poolSizeBytes: 1 });
  for (const name of ["pool.img", "admin-token", "api-key", "boxyard.db", "boxyard.db-wal", "setup.lock", "setup.json.new"])
    writeFileSync(join(dataDir, name), "");
});
afterEach(() => rmSync(directory, { recursive: true }));

test("removes all files of Boxyard, the directory and its claim of a range", async () => {
  await claimRange(config.dataDir, () => "10.9.0.0/16", runDirectory);
  expect(isInstalled(config.dataDir)).toBe(true);
  const kept = await uninstall(config, runDirectory);
  expect(kept.join("\n")).not.toContain("left:");
  expect(existsSync(config.dataDir)).toBe(false);
  expect(isInstalled(config.dataDir)).toBe(false);
  expect(existsSync(runDirectory)).toBe(false);
});

test("leaves other files, and names them", async () => {
  writeFileSync(join(config.dataDir, "thesis.tex"), "");
  expect((await uninstall(config, runDirectory)).join("\n")).toContain("Not ours, and left: thesis.tex");
  expect(readdirSync(config.dataDir)).toEqual(["thesis.tex"]);
});

test("refuses a directory that was not set up here, or was copied from elsewhere, and removes nothing", async () => {
  for (const copy of ["instance.json", "sandboxes/instance.json"]) rmSync(join(config.dataDir, copy));
  const before = readdirSync(config.dataDir);
  const refused = expect.objectContaining({ reason: "not_ours" });
  const why = () => uninstall(config, runDirectory).catch((error: unknown) => error);
  expect(await why()).toEqual(refused);
  writeInstance(config.dataDir, { version: 1, instance: "00000000", network: "10.9.0.0/16", poolSizeBytes: 1 });
  expect(await why()).toEqual(refused);
  expect(readdirSync(config.dataDir).sort()).toEqual([...before, "instance.json"].sort());
});

test("leaves the kernel's settings while other servers of the machine need them", async () => {
  writeFileSync(join(runDirectory, "boxyard-12345678"), "");
  expect((await uninstall(config, runDirectory)).join("\n")).toContain("1 other Boxyard server(s)");
  expect(existsSync(config.dataDir)).toBe(false);
});
