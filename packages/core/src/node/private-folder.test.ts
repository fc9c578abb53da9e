import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makePrivateFolder } from "./private-folder.ts";

let parent: string;
let folder: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "boxyard-private-"));
  folder = join(parent, "above", "data");
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));
const modeOf = (path: string) => (statSync(path).mode & 0o7777).toString(8);

test("a folder is made for its owner alone", () => {
  makePrivateFolder(folder);
  makePrivateFolder(folder);
  expect(modeOf(folder)).toBe("700");
});

test("what an earlier version left open is closed; where a link leads is left alone", () => {
  mkdirSync(join(folder, "guest/bundle"), { recursive: true });
  const files = { store: join(folder, "boxyard.db"), program: join(folder, "program"), outside: join(parent, "outside") };
  for (const file of Object.values(files)) writeFileSync(file, "");
  symlinkSync(files.outside, join(folder, "link"));
  symlinkSync("/nowhere/at/all", join(folder, "dangling"));
  for (const [path, mode] of [
    [folder, 0o711],
    [join(folder, "guest"), 0o755],
    [join(folder, "guest/bundle"), 0o755],
    [files.store, 0o644],
    [files.program, 0o4755],
    [files.outside, 0o644],
  ] as const)
    chmodSync(path, mode);
  makePrivateFolder(folder);
  expect([folder, join(folder, "guest"), join(folder, "guest/bundle")].map(modeOf)).toEqual(["700", "700", "755"]);
  expect([files.store, files.program, files.outside].map(modeOf)).toEqual(["600", "600", "644"]);
});

test.if(process.getuid?.() === 0)("a folder that another user owns is refused, for he could replace what is in it", () => {
  mkdirSync(folder, { recursive: true });
  chownSync(folder, 65534, 65534);
  expect(() => makePrivateFolder(folder)).toThrow(`The folder ${folder} belongs to user 65534`);
});
