import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lockDataFolder, makeDataFolder, removeServerFile, writeServerFile } from "./server-file.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "boxyard-file-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("names the process so that another of the same pid is not taken for it", () => {
  writeServerFile(folder, "http://127.0.0.1:1", "b");
  const path = join(folder, "server.json");
  const file = JSON.parse(readFileSync(path, "utf8"));
  expect(file).toMatchObject({ version: 1, pid: process.pid, url: "http://127.0.0.1:1", build: "b" });
  const stat = readFileSync(`/proc/${process.pid}/stat`, "utf8");
  expect(stat.slice(stat.lastIndexOf(")")).split(" ")[20]).toBe(String(file.startTimeTicks));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  removeServerFile(folder);
  removeServerFile(folder);
  expect(existsSync(path)).toBe(false);
});

test("a damaged lock is told of as one", () => {
  const damaged = mkdtempSync(join(tmpdir(), "boxyard-lock-"));
  writeFileSync(join(damaged, "server.lock"), "no database ".repeat(500));
  expect(() => lockDataFolder(damaged)).toThrow(`${damaged}/server.lock is damaged`);
  rmSync(damaged, { recursive: true });
});

test("one process at a time works on a folder; a killed one lets go", async () => {
  const lock = lockDataFolder(folder);
  expect(() => lockDataFolder(folder)).toThrow(`Another server is working on ${folder}`);
  lock.release();
  lockDataFolder(folder).release();
  const script = `const { lockDataFolder } = await import(${JSON.stringify(join(import.meta.dir, "server-file.ts"))}); lockDataFolder(${JSON.stringify(folder)}); console.log("held"); await Bun.sleep(60000);`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
  try {
    const { value } = await child.stdout.getReader().read();
    expect(new TextDecoder().decode(value)).toContain("held");
    expect(() => lockDataFolder(folder)).toThrow("Another server");
  } finally {
    child.kill("SIGKILL");
    await child.exited;
  }
  lockDataFolder(folder).release();
});

test("a data folder that can't be one says so, and what to do", () => {
  writeFileSync(join(folder, "file"), "");
  const below = join(folder, "file", "data");
  expect(() => makeDataFolder(below)).toThrow(/^The data folder .*file.data can't be written \(.*\); make room there, or set BOXYARD_DATA/);
  expect(() => lockDataFolder(join(folder, "missing"))).toThrow(/missing can't be written/);
});
