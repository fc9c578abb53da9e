import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

test("removes all files of Boxyard, and the directory", () => {
  expect(isInstalled(config.dataDir)).toBe(true);
  const kept = uninstall(config, runDirectory);
  expect(kept.join("\n")).not.toContain("left:");
  expect(existsSync(config.dataDir)).toBe(false);
  expect(isInstalled(config.dataDir)).toBe(false);
});

test("leaves other files, and names them", () => {
  writeFileSync(join(config.dataDir, "thesis.tex"), "");
  expect(uninstall(config, runDirectory).join("\n")).toContain("Not ours, and left: thesis.tex");
  expect(readdirSync(config.dataDir)).toEqual(["thesis.tex"]);
});

test("refuses a directory that was not set up here, or was copied from elsewhere, and removes nothing", () => {
  for (const copy of ["instance.json", "sandboxes/instance.json"]) rmSync(join(config.dataDir, copy));
  const before = readdirSync(config.dataDir);
  const refused = expect.objectContaining({ reason: "not_ours" });
  expect(() => uninstall(config, runDirectory)).toThrow(refused);
  writeInstance(config.dataDir, { version: 1, instance: "00000000", network: "10.9.0.0/16", poolSizeBytes: 1 });
  expect(() => uninstall(config, runDirectory)).toThrow(refused);
  expect(readdirSync(config.dataDir).sort()).toEqual([...before, "instance.json"].sort());
});

test("leaves the kernel's settings while other servers of the machine need them", () => {
  writeFileSync(join(runDirectory, "boxyard-12345678"), "");
  expect(uninstall(config, runDirectory).join("\n")).toContain("1 other Boxyard server(s)");
  expect(existsSync(config.dataDir)).toBe(false);
});
