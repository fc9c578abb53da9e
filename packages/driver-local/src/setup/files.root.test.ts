import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mount, umount2 } from "../sys/libc.ts";
import { writeWhole } from "./files.ts";

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-files-"));
  mount("tmpfs", directory, "tmpfs", 0, "size=64k");
});
afterAll(() => {
  umount2(directory);
  rmSync(directory, { recursive: true });
});

test("a file that does not fit on the disk does not replace the old one", () => {
  const path = join(directory, "file");
  writeWhole(path, "old");
  expect(() => writeWhole(path, "x".repeat(1 << 20))).toThrow("ENOSPC");
  expect(readdirSync(directory)).toEqual(["file"]);
});
