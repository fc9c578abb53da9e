import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
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

describe("a damaged lock", () => {
  const path = () => join(directory, "server.lock");
  beforeEach(() => writeFileSync(path(), "no database ".repeat(500)));

  test("is emptied where no server is at work, and locks again", () => {
    const lock = lockDataDir(directory);
    expect(() => lockDataDir(directory)).toThrow(`Another server is working on ${directory}`);
    lock.release();
  });

  test("damaged again while it is held, it is still held", () => {
    const lock = lockDataDir(directory);
    const fd = openSync(path(), "r+");
    // Not closed before the end: closing any descriptor of a file drops this process's locks of it.
    writeSync(fd, "no database ".repeat(500));
    expect(lockElsewhere(directory)).toContain("Another server is working");
    closeSync(fd);
    lock.release();
  });

  test("that was put in the place of a server's is left alone while that one lives", () => {
    writeServerFile(directory, "http://127.0.0.1:1", "b");
    expect(() => lockDataDir(directory)).toThrow(`Another server is working on ${directory}`);
    expect(readFileSync(path(), "utf8")).toStartWith("no database");
    removeServerFile(directory);
    lockDataDir(directory).release();
  });

  test("that is a directory is named, and what to do", () => {
    rmSync(path());
    mkdirSync(path());
    expect(() => lockDataDir(directory)).toThrow(`${path()} is no file. It holds no data of the server's: move it away`);
  });
});

/** What another process says that wants the lock. */
function lockElsewhere(dataDir: string): string {
  const script = `const { lockDataDir } = await import(${JSON.stringify(join(import.meta.dir, "server-file.ts"))}); lockDataDir(${JSON.stringify(dataDir)});`;
  return Bun.spawnSync([process.execPath, "-e", script]).stderr.toString();
}

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
