import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mountRuntimeState, unmountRuntimeState } from "../state/state-mount.ts";
import { instanceName, writeInstance } from "./instance-file.ts";
import { uninstall } from "./uninstall.ts";

let directory: string;
let dataDir: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-uninstall-"));
  dataDir = join(directory, "data");
  mkdirSync(join(dataDir, "sandboxes"), { recursive: true });
});
afterEach(() => {
  unmountRuntimeState(dataDir);
  rmSync(directory, { recursive: true });
});

test("the runtimes' state is removed also when the pool was unmounted by hand", async () => {
  writeInstance(dataDir, { version: 1, instance: instanceName(dataDir), network: "10.9.0.0/16", poolSizeBytes: 1 });
  mountRuntimeState(dataDir);
  await uninstall({ dataDir, cacheDir: join(dataDir, "cache"), env: {} }, join(directory, "run"));
  expect(existsSync(dataDir)).toBe(false);
});
