import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeServerTree } from "./images.ts";

test("the files of the server's image are enough to run it", async () => {
  const tree = mkdtempSync(join(tmpdir(), "boxyard-image-"));
  try {
    await makeServerTree(tree, process.execPath);
    expect(readdirSync(join(tree, "bin")).toSorted()).toEqual(["busybox", "cat", "mkdir", "rm", "sh"]);
    // The loader of the tree finds all libraries there, and none is taken from this machine.
    const libraries = await Bun.$`ldd ${process.execPath}`.text();
    const paths = [...libraries.matchAll(/(\/\S+) \(0x/g)].map(([, path = ""]) => path);
    expect(paths.length).toBeGreaterThan(2);
    expect(paths.filter((path) => !existsSync(join(tree, path)))).toEqual([]);
  } finally {
    rmSync(tree, { recursive: true });
  }
});
