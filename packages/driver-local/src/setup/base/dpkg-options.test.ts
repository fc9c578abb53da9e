import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterExtraction } from "./dpkg-options.ts";
import { readRecipe } from "./recipe.ts";

let tree: string;
beforeAll(() => {
  tree = mkdtempSync(join(tmpdir(), "boxyard-tree 'of the test-"));
});
afterAll(() => rmSync(tree, { recursive: true }));

test("what the recipe excludes is removed from an extracted tree, licences stay, and dpkg gets the options", () => {
  const licence = "usr/share/doc/bash/copyright";
  const kept = ["bin/bash", "usr/share/mandy", "usr/share/locale/locale.alias", licence];
  const removed = [
    "usr/share/man/man1/bash.1.gz",
    "usr/share/doc/bash/README",
    "usr/share/doc/sed/changelog.gz",
    "usr/share/locale/de/LC/x.mo",
  ];
  for (const path of [...kept, ...removed]) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), "x");
  }
  mkdirSync(join(tree, "etc/dpkg/dpkg.cfg.d"), { recursive: true });
  const { dpkgOptions } = readRecipe();
  const { exitCode, stderr } = Bun.spawnSync(["sh", "-c", afterExtraction(dpkgOptions), "exec", tree]);
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  const left = readdirSync(tree, { recursive: true, encoding: "utf8" });
  expect(kept.filter((path) => !left.includes(path))).toEqual([]);
  // Directories of what is left stay, and those of an exclusion itself, as dpkg leaves them.
  expect(left.filter((path) => path.startsWith("usr/share/")).sort()).toEqual(
    ["doc", "doc/bash", "doc/bash/copyright", "locale", "locale/locale.alias", "man", "mandy"].map((path) => `usr/share/${path}`),
  );
  expect(readFileSync(join(tree, "etc/dpkg/dpkg.cfg.d/excludes"), "utf8")).toBe(`${dpkgOptions.join("\n")}\n`);
});
