import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { ROOT } from "../config.ts";

/** Directories that hold our code. */
const DIRECTORIES = ["packages", "tools", "e2e", "bench", "images"];
const NOT_OURS = /(^|\/)(node_modules|dist|generated)\//;

/** Our own source files with their text, sorted by path. */
export function sourceFiles(extensions: readonly string[]): { path: string; text: string }[] {
  const pattern = `{${DIRECTORIES.join(",")}}/**/*.{${extensions.join(",")},}`;
  return [...new Glob(pattern).scanSync({ cwd: ROOT, onlyFiles: true })]
    .filter((path) => !NOT_OURS.test(path))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
}

/** Documents and examples outside of those directories; the change log is history. */
export function documentFiles(): { path: string; text: string }[] {
  return ["*.md", "docs/**/*.md", "examples/**/*.{md,ts,py,sh}"]
    .flatMap((place) => [...new Glob(place).scanSync({ cwd: ROOT, onlyFiles: true })])
    .filter((path) => !NOT_OURS.test(path) && path !== "CHANGELOG.md")
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
}
