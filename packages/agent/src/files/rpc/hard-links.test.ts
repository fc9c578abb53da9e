import { afterEach, beforeEach, expect, test } from "bun:test";
import { type BigIntStats, existsSync, linkSync, lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PinnedDir } from "../path/pinned-dir.ts";
import { HardLinks } from "./hard-links.ts";

let root = "";
let top: PinnedDir;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "boxyard-links-"));
  top = PinnedDir.open(root);
});
afterEach(() => {
  top.close();
  rmSync(root, { recursive: true });
});

const stat = (name: string) => lstatSync(join(root, name), { bigint: true });

/** A file of three names, whose copy is `copy/first`. */
function copied(pathBytes?: number): { readonly links: HardLinks; readonly original: BigIntStats } {
  mkdirSync(join(root, "copy"));
  for (const name of ["original", "copy/first"]) writeFileSync(join(root, name), "");
  for (const name of ["b", "c"]) linkSync(join(root, "original"), join(root, name));
  const links = new HardLinks(top, pathBytes);
  links.add(stat("original"), Buffer.from("copy/first"), stat("copy/first"));
  return { links, original: stat("original") };
}

test("a copy gets as many names as the original has, and no more", () => {
  const { links, original } = copied();
  const given = ["copy/second", "copy/third", "copy/fourth"].map((name) => links.link(original, top, Buffer.from(name)));
  expect(given).toEqual([true, true, false]);
  expect([stat("copy/first").nlink, stat("copy/third").ino]).toEqual([3n, stat("copy/first").ino]);
});

test("a file that replaced the copy meanwhile gets no further name", () => {
  const { links, original } = copied();
  writeFileSync(join(root, "secret"), "");
  renameSync(join(root, "secret"), join(root, "copy/first"));
  expect([links.link(original, top, Buffer.from("copy/second")), existsSync(join(root, "copy/second"))]).toEqual([false, false]);
});

test("link is false for a copy that was removed", () => {
  const { links, original } = copied();
  rmSync(join(root, "copy/first"));
  expect(links.link(original, top, Buffer.from("copy/second"))).toBe(false);
});

test("paths are kept while there is room; the last name of a file frees the room of its path", () => {
  const { links, original } = copied("copy/first".length);
  const other = { ...original, ino: original.ino + 1n } as BigIntStats;
  const known = (name: string) => links.link(other, top, Buffer.from(name));
  links.add(other, Buffer.from("copy/first"), stat("copy/first"));
  expect(known("copy/other")).toBe(false);
  for (const name of ["copy/second", "copy/third"]) links.link(original, top, Buffer.from(name));
  links.add(other, Buffer.from("copy/first"), stat("copy/first"));
  expect(known("copy/other")).toBe(true);
});
