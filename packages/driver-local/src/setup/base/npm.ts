import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../sys/run.ts";
import { resources } from "../resources.ts";
import type { SetupConfig } from "../types.ts";
import type { Recipe } from "./recipe.ts";

/** A package of npm's registry at an exact version. */
export interface NpmPackage {
  readonly name: string;
  readonly version: string;
}

/** The packages of npm's registry in the base template: npm itself, and Node.js for this machine's architecture. */
export function npmPackagesOf({ npmVersion, nodeVersion }: Pick<Recipe, "npmVersion" | "nodeVersion">): {
  npm: NpmPackage;
  node: NpmPackage;
} {
  return { npm: { name: "npm", version: npmVersion }, node: { name: `node-linux-${process.arch}`, version: nodeVersion } };
}

/** Writes a package's tar to the directory and returns its path: a copy from the single executable, else downloaded by the machine's npm client. */
export async function npmPackage({ name, version }: NpmPackage, directory: string, env: SetupConfig["env"]): Promise<string> {
  const path = join(directory, `${name}-${version}.tgz`);
  const carried = resources.npmPackage(name);
  if (carried !== undefined) writeFileSync(path, readFileSync(carried));
  else {
    await runCommand(["npm", "pack", "--silent", "--ignore-scripts", `--pack-destination=${directory}`, `${name}@${version}`], {
      env,
      cwd: directory,
      fix: "Is the machine's npm registry reachable ('npm ping')?",
    });
  }
  return path;
}
