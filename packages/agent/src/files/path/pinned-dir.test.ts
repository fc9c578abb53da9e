import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureDir, PinnedDir } from "./pinned-dir.ts";

const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "boxyard-pinned-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const descriptors = () => readdirSync("/proc/self/fd").length;

test("makes missing directories, outermost first, and reports them", () => {
  const made: string[] = [];
  const dir = ensureDir(`${root}/a//b/./c/`, owner, (path) => made.push(path));
  expect(dir.realPath().toString()).toBe(`${root}/a/b/c`);
  dir.close();
  expect(made).toEqual([`${root}/a`, `${root}/a/b`, `${root}/a/b/c`]);
  expect(statSync(`${root}/a/b`).mode & 0o777).toBe(0o755);
  ensureDir(`${root}/a/b`, owner, () => expect.unreachable()).close();
});

test("follows links among the parents, except dangling ones, and leaves no descriptor open", () => {
  const before = descriptors();
  symlinkSync("a", `${root}/link`);
  symlinkSync("nowhere", `${root}/dangling`);
  writeFileSync(`${root}/file`, "");
  ensureDir(`${root}/link/d`, owner).close();
  expect(statSync(`${root}/a/d`).isDirectory()).toBe(true);
  expect(() => ensureDir(`${root}/dangling/x`, owner)).toThrow("ENOENT");
  expect(() => ensureDir(`${root}/file/x`, owner)).toThrow("ENOTDIR");
  expect(() => ensureDir(`${root}/${"n".repeat(256)}/x`, owner)).toThrow("ENAMETOOLONG");
  expect(descriptors()).toBe(before);
});

test("makes all missing directories or none, and leaves no descriptor open", () => {
  const before = descriptors();
  // Not a valid id: the kernel refuses the chown of the new directory.
  const nobody = { uid: 2 ** 32, gid: 0 };
  expect(() => ensureDir(`${root}/none/x`, nobody)).toThrow();
  expect(() => ensureDir(`${root}/none/x/${"n".repeat(256)}`, owner)).toThrow("ENAMETOOLONG");
  expect([readdirSync(root).includes("none"), descriptors()]).toEqual([false, before]);
});

test("names lead into the directory that was opened, also when its path leads elsewhere", () => {
  const dir = ensureDir(`${root}/held`, owner);
  renameSync(`${root}/held`, `${root}/moved`);
  symlinkSync("/", `${root}/held`);
  writeFileSync(dir.at("f"), "x");
  expect(dir.lstat("f")?.size).toBe(1);
  expect(dir.lstat("etc")).toBeUndefined();
  expect(statSync(`${root}/moved/f`).size).toBe(1);
  const same = PinnedDir.open(`${root}/./moved`);
  expect(same.identity()).toBe(dir.identity());
  same.close();
  dir.close();
});
