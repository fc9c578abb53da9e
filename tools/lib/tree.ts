import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../config.ts";

/** The texts, by path, of every file below a directory of the checkout. If `directory` is the path of a file, the text of this file. */
export function readTree(directory: string): Map<string, string> {
  if (statSync(join(ROOT, directory)).isFile()) return new Map([[directory, readFileSync(join(ROOT, directory), "utf8")]]);
  const files = new Map<string, string>();
  for (const entry of readdirSync(join(ROOT, directory), { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) files.set(path.slice(ROOT.length + 1), readFileSync(path, "utf8"));
  }
  return files;
}

/** Paths that are new, gone or different. */
export function changedFiles(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path)).sort();
}
