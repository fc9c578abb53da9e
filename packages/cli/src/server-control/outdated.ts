import { readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { serverFilePath } from "./server-file.ts";

/** What a server is made of, in a checkout. */
const PARTS = ["core", "spec", "driver", "driver-local", "agent", "server"] as const;
const PACKAGES = resolve(import.meta.dir, "../../..");

/** True when a source of the server is younger than the server that runs. Some milliseconds. */
export function isOutdated(dataDir: string, packages: string = PACKAGES): boolean {
  let startedAt: number;
  try {
    startedAt = statSync(serverFilePath(dataDir)).mtimeMs;
  } catch {
    return false;
  }
  return PARTS.some((part) => hasYounger(join(packages, part, "src"), startedAt));
}

function hasYounger(folder: string, than: number): boolean {
  try {
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      if (name.endsWith(".ts") && !name.endsWith(".test.ts") && statSync(join(folder, name)).mtimeMs > than) return true;
    }
  } catch {
    // No such folder: an installed program, which knows no sources. Or a file that has just gone: whoever edits will start again.
  }
  return false;
}
