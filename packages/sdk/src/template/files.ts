import { createHash } from "node:crypto";
import { createReadStream, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { InvalidArgumentError } from "../errors.ts";
import { entryAt } from "./context-files.ts";
import type { ContextEntry, CopySource } from "./copy-source.ts";
import { cleanPath, ignoreRules, isPattern, matcher } from "./patterns.ts";

/** The entries that a COPY takes, in the order of their paths. Links are taken as links. */
export function entriesOf({ context, source }: CopySource): ContextEntry[] {
  const path = cleanPath(source);
  if (source.startsWith("/") || path.split("/").includes("..")) {
    throw invalid(`copy takes paths below ${context}, not '${source}'`, "copy_outside_context");
  }
  const ignorePath = join(context, ".dockerignore");
  const rules = ignoreRules(existsSync(ignorePath) ? readFileSync(ignorePath, "utf8") : "");
  const fits = isPattern(path) ? matcher(path) : (candidate: string) => candidate === path || path === "";
  const found: ContextEntry[] = [];
  const walk = (relative: string, inside: boolean) => {
    for (const name of readdirSync(join(context, relative)).sort()) {
      const child = relative ? `${relative}/${name}` : name;
      const ignored = rules.ignores(child);
      const taken = inside || fits(child);
      const entry = entryAt(context, child);
      if (taken && !ignored && entry) found.push(entry);
      const mayHold = taken || isPattern(path) || path.startsWith(`${child}/`);
      if (entry?.kind === "directory" && mayHold && (!ignored || rules.hasExceptions)) walk(child, taken);
    }
  };
  walk("", path === "");
  if (found.length === 0) throw invalid(`copy: nothing in ${context} is '${source}' (or .dockerignore leaves it out)`, "copy_nothing");
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The name under which the server keeps these files; equal content has the same name (docs/contract/templates.md, Copying). */
export async function hashOf(entries: readonly ContextEntry[], source: string, destination: string): Promise<string> {
  const hash = createHash("sha256").update(`COPY ${source} ${destination}`);
  for (const { path, mode, size, kind, absolute, target } of entries) {
    hash.update(path).update(String(mode)).update(String(size));
    if (kind === "symlink") hash.update(target);
    else if (kind === "file") for await (const chunk of createReadStream(absolute)) hash.update(chunk as Uint8Array);
  }
  return hash.digest("hex");
}

function invalid(message: string, reason: string): InvalidArgumentError {
  return new InvalidArgumentError(message, { code: "invalid_argument", reason });
}
