import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sourcesOf } from "./context-files.ts";

const context = mkdtempSync(join(tmpdir(), "boxyard-context-"));
beforeAll(() => {
  mkdirSync(join(context, "src/deep"), { recursive: true });
  for (const path of ["a.txt", ".env", "src/b.txt", "src/deep/c.log", "src/deep/keep.log"]) writeFileSync(join(context, path), path);
  symlinkSync("src", join(context, "link"));
  symlinkSync("/etc", join(context, "out"));
  symlinkSync("nowhere", join(context, "dangling"));
  writeFileSync(join(context, ".dockerignore"), "**/*.log\n!src/deep/keep.log\n");
});
afterAll(() => rmSync(context, { recursive: true }));

const take = (sources: string[], isAdd = false) => {
  const { entries, sent } = sourcesOf({ context, sources, isAdd, ignoreFile: join(context, ".dockerignore") });
  return { paths: entries.map(({ path }) => path), sent };
};

test("sources, and the paths that they name: dot files match, named links are followed, ignored files stay out", () => {
  expect(take(["/a.txt"])).toEqual({ paths: ["a.txt"], sent: [{ path: "a.txt", name: "a.txt" }] });
  expect(take(["src"]).paths).toEqual(["src", "src/b.txt", "src/deep", "src/deep/keep.log"]);
  expect(take(["link"])).toEqual({ paths: take(["src"]).paths, sent: [{ path: "src", name: "link" }] });
  expect(take(["link/b.txt"]).sent).toEqual([{ path: "src/b.txt", name: "b.txt" }]);
  expect(take([".e*", "?.txt", "*/deep/*.log"]).sent).toEqual([
    { path: ".env", name: ".env" },
    { path: "a.txt", name: "a.txt" },
    { path: "src/deep/keep.log", name: "keep.log" },
  ]);
  expect(take(["."]).sent).toEqual([{ path: "." }]);
  expect(take(["./src/", "src/b.txt"]).paths).toEqual(take(["src"]).paths);
  expect(take(["dangling"])).toEqual({ paths: ["dangling"], sent: [{ path: "dangling", name: "dangling" }] });
});

test.each([
  ["out", "'out' is a link that leads out of "],
  ["out/passwd", "'out/passwd' is a link that leads out of "],
  ["../x", "a source below "],
  ["src/../../x", "a source below "],
  ["absent", "nothing in "],
  ["src/deep/c.log", "(or .dockerignore leaves it out)"],
  ["*.none", "nothing in "],
])("%p is refused", (source, message) => {
  expect(() => take([source])).toThrow(message);
});

test("ADD tells archives by their content", () => {
  const tar = Bun.spawnSync(["tar", "-C", context, "-cf", "-", "a.txt"]).stdout;
  const files: Record<string, Uint8Array> = {
    "plain.bin": tar,
    "packed.bin": Bun.gzipSync(new Uint8Array(tar)),
    "text.tar.gz": Bun.gzipSync(new TextEncoder().encode("no tar".repeat(500))),
    "cut.tar": tar.subarray(0, 300),
    "empty.tar": new Uint8Array(),
  };
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(context, name), bytes);
  const names = Object.keys(files);
  expect(
    take(names, true)
      .sent.filter(({ extract }) => extract)
      .map(({ path }) => path),
  ).toEqual(["plain.bin", "packed.bin"]);
  expect(take(names).sent.some(({ extract }) => extract)).toBe(false);
});
