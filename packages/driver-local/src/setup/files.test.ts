import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeWhole } from "./files.ts";

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-files-"));
});
afterAll(() => rmSync(directory, { recursive: true }));

test("a file that has this content and mode already is not written again", () => {
  const path = join(directory, "same");
  const inode = () => statSync(path).ino;
  writeWhole(path, "one", 0o600);
  const first = inode();
  writeWhole(path, "one", 0o600);
  expect(inode()).toBe(first);
  chmodSync(path, 0o644);
  writeWhole(path, "one", 0o600);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  writeWhole(path, "two", 0o600);
  expect(readFileSync(path, "utf8")).toBe("two");
});

test("a write that fails leaves no temporary file", () => {
  const path = join(directory, "taken");
  mkdirSync(join(path, "inside"), { recursive: true });
  expect(() => writeWhole(path, "new")).toThrow();
  expect(readdirSync(directory).filter((name) => name.endsWith(".new"))).toEqual([]);
});
