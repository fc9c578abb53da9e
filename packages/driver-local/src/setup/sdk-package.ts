import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { resources } from "./resources.ts";
import type { SetupConfig } from "./types.ts";

const SUFFIX = ".tgz";

/**
 * Path of the installable client package of this version, `$BOXYARD_DATA/sdk/<hash>.tgz`. The first call makes it and removes packages of other
 * versions.
 */
export async function sdkPackage({ dataDir, env }: Pick<SetupConfig, "dataDir" | "env">): Promise<string> {
  const directory = join(dataDir, "sdk");
  const name = `${resources.sdkKey()}${SUFFIX}`;
  const path = join(directory, name);
  if (existsSync(path)) return path;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const work = mkdtempSync(join(directory, "making-"));
  try {
    await resources.makeSdk(join(work, name), env);
    renameSync(join(work, name), path);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  // Also removes what a killed server has left: only one server works on a data directory.
  for (const other of readdirSync(directory)) if (other !== name) rmSync(join(directory, other), { recursive: true, force: true });
  return path;
}
