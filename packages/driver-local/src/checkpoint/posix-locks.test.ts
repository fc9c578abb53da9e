import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkLocksIn, posixLocks } from "./posix-locks.ts";

const HEAD = [0, 0, 0, 0, 0, 0, 0, 0];
const message = (...bytes: number[]) => [bytes.length, 0, 0, 0, ...bytes];

test("locks of fcntl are read, those of other kinds left out", () => {
  const image = Buffer.from([
    ...HEAD,
    // flag 1, type 1, pid 300, fd 4, start 2^30 (of SQLite), length 510
    ...message(0x08, 1, 0x10, 1, 0x18, 0xac, 2, 0x20, 4, 0x28, 0x80, 0x80, 0x80, 0x80, 4, 0x30, 0xfe, 3),
    ...message(0x08, 2, 0x10, 1, 0x18, 7, 0x20, 5, 0x28, 0, 0x30, 0),
    ...message(0x08, 1, 0x10, 0, 0x18, 7, 0x20, 6, 0x28, 0, 0x30, 0),
  ]);
  expect(posixLocks(image)).toEqual([
    { pid: 300, fd: 4, type: "WRITE", start: 2n ** 30n, length: 510n },
    { pid: 7, fd: 6, type: "READ", start: 0n, length: 0n },
  ]);
  expect(posixLocks(Buffer.from(HEAD))).toEqual([]);
});

test.each([
  ["that ends early", [...HEAD, 9, 0, 0, 0, 0x08, 1]],
  ["without a length", [...HEAD, 9, 0]],
  ["with a number that does not end", [...HEAD, ...message(0x08, 0x81)]],
  ["with other fields than numbers", [...HEAD, ...message(0x0a, 0)]],
])("an image %s is damaged", (_what, bytes) => {
  expect(() => posixLocks(Buffer.from(bytes))).toThrow("damaged");
});

test("more locks than a resume can set again are refused", () => {
  const images = mkdtempSync(join(tmpdir(), "boxyard-locks-"));
  try {
    checkLocksIn(images);
    const path = join(images, "filelocks.img");
    writeFileSync(path, "");
    truncateSync(path, 2 ** 20);
    checkLocksIn(images);
    truncateSync(path, 2 ** 20 + 1);
    expect(() => checkLocksIn(images)).toThrow("too many locks");
  } finally {
    rmSync(images, { recursive: true });
  }
});
