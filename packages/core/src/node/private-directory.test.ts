import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makePrivateDirectory } from "./private-directory.ts";

let parent: string;
let directory: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "boxyard-private-"));
  directory = join(parent, "above", "data");
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));
const modeOf = (path: string) => (statSync(path).mode & 0o7777).toString(8);

test("a directory is made for its owner alone", () => {
  makePrivateDirectory(directory);
  makePrivateDirectory(directory);
  expect(modeOf(directory)).toBe("700");
});

test("what an earlier version left open is closed; where a link leads is left alone", () => {
  mkdirSync(join(directory, "guest/bundle"), { recursive: true });
  const files = { store: join(directory, "boxyard.db"), program: join(directory, "program"), outside: join(parent, "outside") };
  for (const file of Object.values(files)) writeFileSync(file, "");
  symlinkSync(files.outside, join(directory, "link"));
  symlinkSync("/nowhere/at/all", join(directory, "dangling"));
  for (const [path, mode] of [
    [directory, 0o711],
    [join(directory, "guest"), 0o755],
    [join(directory, "guest/bundle"), 0o755],
    [files.store, 0o644],
    [files.program, 0o4755],
    [files.outside, 0o644],
  ] as const)
    chmodSync(path, mode);
  makePrivateDirectory(directory);
  expect([directory, join(directory, "guest"), join(directory, "guest/bundle")].map(modeOf)).toEqual(["700", "700", "755"]);
  expect([files.store, files.program, files.outside].map(modeOf)).toEqual(["600", "600", "644"]);
});

test.if(process.getuid?.() === 0)("a directory that another user owns is refused, for that user could replace what is in it", () => {
  mkdirSync(directory, { recursive: true });
  chownSync(directory, 65534, 65534);
  expect(() => makePrivateDirectory(directory)).toThrow(`The directory ${directory} belongs to user 65534`);
});
