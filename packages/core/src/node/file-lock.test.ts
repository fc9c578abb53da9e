import { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tryLockFile } from "./file-lock.ts";

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-file-lock-"));
  path = join(directory, "lock");
});
afterEach(() => rmSync(directory, { recursive: true }));

/** A program that does something with the lock. */
const elsewhere = (code: string) => [
  process.execPath,
  "-e",
  `const { tryLockFile } = await import(${JSON.stringify(join(import.meta.dir, "file-lock.ts"))});
   const lock = tryLockFile(${JSON.stringify(path)}); ${code}`,
];
const triedElsewhere = () => Bun.spawnSync(elsewhere('console.log(lock ? "taken" : "held")')).stdout.toString().trim();

test("has one holder, in this process and among all, is root's alone, and is free after its release", () => {
  const lock = tryLockFile(path);
  expect([statSync(path).mode & 0o777, tryLockFile(path), triedElsewhere()]).toEqual([0o600, undefined, "held"]);
  // A descriptor that is closed releases locks of processes, and not this one.
  writeFileSync(path, "any content");
  expect(triedElsewhere()).toBe("held");
  lock?.release();
  lock?.release();
  expect(triedElsewhere()).toBe("taken");
});

test("a killed holder releases it, and a program that the holder has started does not keep it", async () => {
  const code = `const child = Bun.spawn(["tail", "-f", "/dev/null"]); console.log(child.pid); await Bun.stdin.text()`;
  const holder = Bun.spawn(elsewhere(code), { stdin: "pipe", stdout: "pipe" });
  const { value } = await holder.stdout.getReader().read();
  try {
    expect(tryLockFile(path)).toBeUndefined();
    holder.kill("SIGKILL");
    await holder.exited;
    const lock = tryLockFile(path);
    expect(lock).toBeDefined();
    lock?.release();
  } finally {
    process.kill(Number(new TextDecoder().decode(value)), "SIGKILL");
  }
});

test("excludes a server of an earlier version, which held the lock of a SQLite file", () => {
  const database = new Database(path, { create: true });
  database.run("BEGIN EXCLUSIVE");
  expect(triedElsewhere()).toBe("held");
  database.close();
  const lock = tryLockFile(path);
  const script = `new (require("bun:sqlite").Database)(${JSON.stringify(path)}).run("BEGIN EXCLUSIVE")`;
  expect(Bun.spawnSync([process.execPath, "-e", script]).stderr.toString()).toContain("database is locked");
  lock?.release();
});

test("what cannot be locked is the kernel's error", () => {
  expect(() => tryLockFile(directory)).toThrow(expect.objectContaining({ code: "EISDIR" }));
});
