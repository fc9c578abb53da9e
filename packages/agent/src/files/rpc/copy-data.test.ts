import { afterAll, beforeAll, expect, test } from "bun:test";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { TimeSlice } from "../time-slice.ts";
import { copyData } from "./copy-data.ts";

let root = "";
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "boxyard-copy-"));
});
afterAll(() => rmSync(root, { recursive: true }));

/** Copies a file whose status said this size and number of blocks; returns the copy's content. */
async function copyOf(name: string, size: number, blocks: number, find?: Parameters<typeof copyData>[4]): Promise<Buffer> {
  const [from, to] = [openSync(resolve(root, name), "r"), openSync(join(root, "copy"), "w+")];
  try {
    await copyData(from, to, { size, blocks }, new TimeSlice(), find);
  } finally {
    closeSync(from);
    closeSync(to);
  }
  return readFileSync(join(root, "copy"));
}

test.each([0, 1, 1000])("%d blocks: the copy is as long as the file was, or as it is where it has become shorter", async (blocks) => {
  writeFileSync(join(root, "file"), "content");
  expect((await copyOf("file", 7, blocks)).toString()).toBe("content");
  expect((await copyOf("file", 4, blocks)).toString()).toBe("cont");
  expect((await copyOf("file", 300_000, blocks)).toString()).toBe("content");
  truncateSync(join(root, "file"), 100_000);
  expect((await copyOf("file", 100_000, blocks)).equals(readFileSync(join(root, "file")))).toBe(true);
});

test.each([0, 1000])("%d blocks: a file of the kernel is copied to its end, whatever size it reports", async (blocks) => {
  expect((await copyOf("/sys/kernel/fscaps", 4096, blocks)).toString()).toBe(readFileSync("/sys/kernel/fscaps", "utf8"));
});

test.each([
  ["stays where it is", (at: number) => at],
  ["goes back", () => 0],
])("where the search for data and holes %s the copy ends anyway, and is whole", async (_, find) => {
  writeFileSync(join(root, "served"), "content");
  expect((await copyOf("served", 7, 0, (_fd, at) => find(at))).toString()).toBe("content");
});
