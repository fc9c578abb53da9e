import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processStat } from "@boxyard/core/process-stat";
import { lockDataDir, makeDataDir, removeServerFile, writeServerFile } from "./server-file.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-file-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

test("names the process so that another of the same pid is not taken for it", () => {
  writeServerFile(directory, "http://127.0.0.1:1", "b");
  const path = join(directory, "server.json");
  const file = JSON.parse(readFileSync(path, "utf8"));
  expect(file).toMatchObject({ version: 1, pid: process.pid, url: "http://127.0.0.1:1", build: "b" });
  expect(file.startTimeTicks).toBe(processStat(process.pid)?.startTicks);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  removeServerFile(directory);
  removeServerFile(directory);
  expect(existsSync(path)).toBe(false);
});

test("the error of a damaged lock says so", () => {
  const damaged = mkdtempSync(join(tmpdir(), "boxyard-lock-"));
  writeFileSync(join(damaged, "server.lock"), "no database ".repeat(500));
  expect(() => lockDataDir(damaged)).toThrow(`${damaged}/server.lock is damaged`);
  rmSync(damaged, { recursive: true });
});

test("one process at a time works on a directory; a killed one lets go", async () => {
  const lock = lockDataDir(directory);
  expect(() => lockDataDir(directory)).toThrow(`Another server is working on ${directory}`);
  lock.release();
  lockDataDir(directory).release();
  // Time alone: until it is killed.
  const script = `const { lockDataDir } = await import(${JSON.stringify(join(import.meta.dir, "server-file.ts"))}); lockDataDir(${JSON.stringify(directory)}); console.log("held"); await Bun.sleep(60000);`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
  try {
    const { value } = await child.stdout.getReader().read();
    expect(new TextDecoder().decode(value)).toContain("held");
    expect(() => lockDataDir(directory)).toThrow("Another server");
  } finally {
    child.kill("SIGKILL");
    await child.exited;
  }
  lockDataDir(directory).release();
});

test("a data directory that can't be one says so, and what to do", () => {
  writeFileSync(join(directory, "file"), "");
  const below = join(directory, "file", "data");
  expect(() => makeDataDir(below)).toThrow(/^The data directory .*file.data can't be written \(.*\); make room there, or set BOXYARD_DATA/);
  expect(() => lockDataDir(join(directory, "missing"))).toThrow(/missing can't be written/);
});
