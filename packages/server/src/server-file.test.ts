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

test("names the process by pid and start, so that another process with the same pid does not match", () => {
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

  test("locks as any other: its content does not matter", () => {
    const lock = lockDataDir(directory);
    expect(() => lockDataDir(directory)).toThrow(
      `Another server is working on ${directory}; \`BOXYARD_DATA=${directory} boxyard down\` ends it`,
    );
    lock.release();
  });

  test("that is damaged while it is held is still held", () => {
    const lock = lockDataDir(directory);
    const fd = openSync(path(), "r+");
    writeSync(fd, "no database ".repeat(500));
    expect(lockElsewhere(directory)).toContain("Another server is working");
    closeSync(fd);
    lock.release();
  });

  test("that replaced the lock of a server stays while that server runs", () => {
    writeServerFile(directory, "http://127.0.0.1:1", "b");
    expect(() => lockDataDir(directory)).toThrow(`Another server is working on ${directory}`);
    expect(readFileSync(path(), "utf8")).toStartWith("no database");
    removeServerFile(directory);
    lockDataDir(directory).release();
  });

  test("that is a directory is an error that names it and says what to do", () => {
    rmSync(path());
    mkdirSync(path());
    expect(() => lockDataDir(directory)).toThrow(`${path()} is not a file. The server keeps no data there: move it away`);
  });
});

/** What a second process that tries to lock prints. */
function lockElsewhere(dataDir: string): string {
  const script = `const { lockDataDir } = await import(${JSON.stringify(join(import.meta.dir, "server-file.ts"))}); lockDataDir(${JSON.stringify(dataDir)});`;
  return Bun.spawnSync([process.execPath, "-e", script]).stderr.toString();
}

test("one process at a time locks a directory; a killed process releases its lock", async () => {
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

test("a data directory that cannot be written is an error that says what to do", () => {
  writeFileSync(join(directory, "file"), "");
  const below = join(directory, "file", "data");
  expect(() => makeDataDir(below)).toThrow(/^The data directory .*file.data can't be written \(.*\); make room there, or set BOXYARD_DATA/);
  expect(() => lockDataDir(join(directory, "missing"))).toThrow(/missing can't be written/);
});
