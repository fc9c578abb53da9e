import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setxattr } from "../sys/libc.ts";
import { changedPaths } from "./changed-paths.ts";

let tree: string;
beforeEach(() => {
  tree = mkdtempSync(join(tmpdir(), "boxyard-changed-"));
});
afterEach(() => rmSync(tree, { recursive: true }));

const PATHS = ["/usr/local", "/code"];

test("a directory on the way changes nothing, and a file below a path or at it does", () => {
  mkdirSync(`${tree}/usr/lib`, { recursive: true });
  expect(changedPaths(tree, PATHS)).toEqual([]);
  mkdirSync(`${tree}/usr/local/bin`, { recursive: true });
  expect(changedPaths(tree, PATHS)).toEqual(["/usr/local"]);
  writeFileSync(`${tree}/code`, "");
  expect(changedPaths(tree, PATHS)).toEqual(PATHS);
});

test("an opaque directory on the way changes what it hides", () => {
  mkdirSync(`${tree}/usr`);
  setxattr(`${tree}/usr`, "trusted.overlay.opaque", Buffer.from("y"));
  expect(changedPaths(tree, PATHS)).toEqual(["/usr/local"]);
});

test("a symbolic link on the way changes all that it led to, and is not followed", () => {
  mkdirSync(`${tree}/elsewhere`);
  symlinkSync("elsewhere", `${tree}/usr`);
  expect(changedPaths(tree, PATHS)).toEqual(["/usr/local"]);
});
