import { readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { executableBuild } from "@boxyard/core";
import { readServerFile, serverFilePath } from "./server-file.ts";

/** Packages of which a server is made, in a checkout. */
const PARTS = ["core", "spec", "driver", "driver-local", "agent", "server"] as const;
const PACKAGES = resolve(import.meta.dir, "../../..");

/** True when the server that runs is of another build than this executable or, in a checkout, older than a source of it. Some milliseconds. */
export function isOutdated(dataDir: string, packages: string = PACKAGES): boolean {
  return executableBuild === undefined ? isOlderThanSources(dataDir, packages) : readServerFile(dataDir)?.build !== executableBuild;
}

function isOlderThanSources(dataDir: string, packages: string): boolean {
  let startedAt: number;
  try {
    startedAt = statSync(serverFilePath(dataDir)).mtimeMs;
  } catch {
    return false;
  }
  return PARTS.some((part) => hasYounger(join(packages, part, "src"), startedAt));
}

function hasYounger(directory: string, than: number): boolean {
  try {
    for (const name of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
      if (name.endsWith(".ts") && !name.endsWith(".test.ts") && statSync(join(directory, name)).mtimeMs > than) return true;
    }
  } catch {
    // No such directory, or a file that has just gone: an edit is going on, and the next start sees its result.
  }
  return false;
}
