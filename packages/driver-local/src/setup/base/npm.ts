import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../sys/run.ts";
import { resources } from "../resources.ts";
import type { SetupConfig } from "../types.ts";
import type { Recipe } from "./recipe.ts";
import { quoted } from "./shell.ts";

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

const fileOf = ({ name, version }: NpmPackage, directory: string): string => join(directory, `${name}-${version}.tgz`);

/** Writes a package's tar to the directory: a copy from the single executable, else downloaded by the machine's npm client. */
async function fetchPackage(wanted: NpmPackage, directory: string, env: SetupConfig["env"], signal: AbortSignal): Promise<void> {
  const { name, version } = wanted;
  const carried = resources.npmPackage(name);
  if (carried !== undefined) return writeFileSync(fileOf(wanted, directory), readFileSync(carried));
  await runCommand(["npm", "pack", "--silent", "--ignore-scripts", `--pack-destination=${directory}`, `${name}@${version}`], {
    env,
    cwd: directory,
    fix: "Is the machine's npm registry reachable ('npm ping')?",
    signal,
  });
}

/** Packages that are on their way while the tree is built. Disposing of them ends what fetches them. */
export interface FetchedPackages extends AsyncDisposable {
  /** Where the packages will be. */
  readonly npm: string;
  readonly node: string;
  /** A line of a shell that ends when both are there. */
  readonly waitForThem: string;
  /** Aborted, with the error, when one cannot be had; or as the caller's. */
  readonly signal: AbortSignal;
}

/** Begins to fetch the packages of the base template into the directory. */
export async function fetchNpmPackages(
  recipe: Pick<Recipe, "npmVersion" | "nodeVersion">,
  directory: string,
  env: SetupConfig["env"],
  caller?: AbortSignal,
): Promise<FetchedPackages> {
  const { npm, node } = npmPackagesOf(recipe);
  const pipe = join(directory, "packages-there");
  await runCommand(["mkfifo", pipe]);
  // Open at both ends, so that this open does not wait for a reader, nor the reader find an end.
  const fd = openSync(pipe, "r+");
  const stop = new AbortController();
  const signal = caller ? AbortSignal.any([caller, stop.signal]) : stop.signal;
  const fetch = (wanted: NpmPackage) => fetchPackage(wanted, directory, env, signal).catch((error: unknown) => stop.abort(error));
  const fetched = Promise.all([fetch(npm), fetch(node)]).then(() => {
    if (!signal.aborted) writeSync(fd, "\n");
  });
  return {
    ...{ npm: fileOf(npm, directory), node: fileOf(node, directory), waitForThem: `read line <${quoted(pipe)}`, signal },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await fetched;
      closeSync(fd);
    },
  };
}
