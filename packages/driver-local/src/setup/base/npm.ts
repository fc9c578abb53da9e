import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../sys/run.ts";
import { resources } from "../resources.ts";
import type { SetupConfig } from "../types.ts";

/** Writes npm's package of that version into the folder and returns its path: the one carried along, else through the machine's own client. */
export async function npmPackage(version: string, folder: string, env: SetupConfig["env"]): Promise<string> {
  const path = join(folder, `npm-${version}.tgz`);
  const carried = resources.npmPackage();
  if (carried !== undefined) writeFileSync(path, readFileSync(carried));
  else {
    await runCommand(["npm", "pack", "--silent", "--ignore-scripts", `--pack-destination=${folder}`, `npm@${version}`], {
      env,
      cwd: folder,
      fix: "Is the machine's npm registry reachable ('npm ping')?",
    });
  }
  return path;
}
