import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isMountPoint } from "../sys/mount-points.ts";
import { mountRuntimeState, runtimeStateIn, unmountRuntimeState } from "./state-mount.ts";

const TMPFS_MAGIC = 0x01021994;
const dataDir = mkdtempSync(join(tmpdir(), "boxyard-state-"));
const path = runtimeStateIn(dataDir);

afterAll(() => {
  unmountRuntimeState(dataDir);
  rmSync(dataDir, { recursive: true, force: true });
});

test("the runtime's state is in memory, readable by root alone, and mounted once", () => {
  mountRuntimeState(dataDir);
  writeFileSync(join(path, "kept"), "");
  mountRuntimeState(dataDir);
  expect(existsSync(join(path, "kept"))).toBe(true);
  expect(statfsSync(path).type).toBe(TMPFS_MAGIC);
  expect(statSync(path).mode & 0o777).toBe(0o700);
  unmountRuntimeState(dataDir);
  unmountRuntimeState(dataDir);
  expect(isMountPoint(path)).toBe(false);
});

test("what an earlier version has left in its place is removed", () => {
  mkdirSync(join(path, "boxyard-i0"), { recursive: true });
  mountRuntimeState(dataDir);
  unmountRuntimeState(dataDir);
  expect(existsSync(join(path, "boxyard-i0"))).toBe(false);
});
