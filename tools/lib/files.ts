import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { ROOT } from "../config.ts";

/** Directories with the source code of this repository. */
const DIRECTORIES = ["packages", "tools", "e2e", "bench", "images", "native"];
const NOT_OURS = /(^|\/)(node_modules|dist|generated)\//;

/** The source files of this repository with their text, sorted by path. */
export function sourceFiles(extensions: readonly string[]): { path: string; text: string }[] {
  const pattern = `{${DIRECTORIES.join(",")}}/**/*.{${extensions.join(",")},}`;
  return [...new Glob(pattern).scanSync({ cwd: ROOT, onlyFiles: true })]
    .filter((path) => !NOT_OURS.test(path))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
}

/** Documents and examples outside of those directories, without the change log: its old entries do not change. */
export function documentFiles(): { path: string; text: string }[] {
  return ["*.md", "docs/**/*.md", "examples/**/*.{md,ts,py,sh}"]
    .flatMap((place) => [...new Glob(place).scanSync({ cwd: ROOT, onlyFiles: true })])
    .filter((path) => !NOT_OURS.test(path) && path !== "CHANGELOG.md")
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
}
