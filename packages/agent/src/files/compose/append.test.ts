import { afterEach, beforeEach, expect, test } from "bun:test";
import { closeSync, fstatSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Piece } from "../sys/copy.ts";
import { Appender } from "./append.ts";

const BLOCK = 4096;
const open: number[] = [];
const directories: string[] = [];
/** A file of this size below `where`; `/dev/shm` is another device than the disk. */
function file(where: string, bytes: number): number {
  const directory = mkdtempSync(join(where, "boxyard-append-"));
  directories.push(directory);
  writeFileSync(join(directory, "file"), new Uint8Array(bytes));
  const fd = openSync(join(directory, "file"), "r+");
  open.push(fd);
  return fd;
}

let asked: number[] = [];
let copied = 0;
/** Shares extents between files of the same device, and counts copied bytes instead of copying. */
const kernel = {
  cloneRange({ from, to, length }: Piece): boolean {
    asked.push(length);
    return fstatSync(from).dev === fstatSync(to).dev;
  },
  copySome({ length }: Piece): number {
    copied += length;
    return length;
  },
};
beforeEach(() => {
  asked = [];
  copied = 0;
});
afterEach(() => {
  for (const fd of open.splice(0)) closeSync(fd);
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

test("extents are shared where the offset is aligned, and nothing is copied then", async () => {
  const from = file(tmpdir(), 3 * BLOCK + 5);
  const appender = new Appender(file(tmpdir(), 0), kernel);
  expect(await appender.append(from, 2 * BLOCK)).toBe(2 * BLOCK);
  expect(await appender.append(from, 3 * BLOCK + 5)).toBe(3 * BLOCK + 5);
  expect([asked, copied]).toEqual([[2 * BLOCK, 3 * BLOCK + 5], 0]);
  expect(await appender.append(from, BLOCK)).toBe(BLOCK);
  expect([asked.length, copied]).toEqual([2, BLOCK]);
});

test("after three refusals between two devices sharing is no longer tried; between other pairs it is", async () => {
  const [memory, disk] = [file("/dev/shm", BLOCK), file(tmpdir(), BLOCK)];
  expect(fstatSync(memory).dev).not.toBe(fstatSync(disk).dev);
  for (let i = 0; i < 5; i++) await new Appender(disk, kernel).append(memory, BLOCK);
  expect([asked.length, copied]).toEqual([3, 5 * BLOCK]);
  await new Appender(file("/dev/shm", 0), kernel).append(memory, BLOCK);
  expect([asked.length, copied]).toEqual([4, 5 * BLOCK]);
});

test("a source that is shorter than its size says is appended to its end", async () => {
  const appender = new Appender(file(tmpdir(), 0), { cloneRange: () => false, copySome: () => 0 });
  expect(await appender.append(file(tmpdir(), 0), BLOCK)).toBe(0);
});
