import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { acquireLock } from "./lock.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-start-lock-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

const acquire = (limitMs: number) => acquireLock(directory, { limitMs, onWait: () => {}, signal: new AbortController().signal });

test("is root's alone, and held by one at a time", async () => {
  const lock = await acquire(1000);
  expect(statSync(join(directory, "start.lock")).mode & 0o777).toBe(0o600);
  await expect(acquire(50)).rejects.toMatchObject({ code: "deadline_exceeded", reason: "start_lock" });
  lock.release();
  (await acquire(1000)).release();
});

test("is held by one at a time whatever it holds", async () => {
  writeFileSync(join(directory, "start.lock"), "no database ".repeat(500));
  const lock = await acquire(1000);
  await expect(acquire(50)).rejects.toMatchObject({ reason: "start_lock" });
  lock.release();
});

test("a directory in its place is named", async () => {
  mkdirSync(join(directory, "start.lock"));
  await expect(acquire(1000)).rejects.toThrow(`${directory}/start.lock is a directory`);
});
