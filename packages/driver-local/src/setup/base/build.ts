import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { AppError } from "@boxyard/core";
import { freeBytes } from "../../pool-storage/index.ts";
import { lockFile } from "../../sys/file-lock.ts";
import { runCommand } from "../../sys/run.ts";
import { systemEnv } from "../config.ts";
import type { SetupConfig, StageReport } from "../types.ts";
import { formatDeb822 } from "./apt-sources.ts";
import { afterExtraction } from "./dpkg-options.ts";
import { IN_MEMORY, treeFitsMemory } from "./in-memory.ts";
import { machineAptSettings, machineRelease, machineSources } from "./machine.ts";
import { type FetchedPackages, fetchNpmPackages } from "./npm.ts";
import { type Recipe, readRecipe, recipeKey } from "./recipe.ts";
import { quoted } from "./shell.ts";

/** The tree, apt's downloads and the tar exist at the same time. */
const BUILD_NEEDS_BYTES = 3 * 1024 ** 3;

/** How many trees stay in the cache, the current one included. */
const TARS_KEPT = 3;

/** Name in the cache of the tar that the recipe of this checkout makes on this machine. */
export const baseTarName = (codename = machineRelease().codename): string => `base-${recipeKey(codename)}.tar`;

interface BaseTarOptions {
  /** Builds always; the tar replaces the one in the cache. */
  readonly fresh?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Path of the tar of the base template's tree: from the cache, else built. The build holds a lock in the cache, so that data directories that share
 * the cache build once.
 */
export async function baseTar(config: SetupConfig, report: StageReport, { fresh = false, signal }: BaseTarOptions = {}): Promise<string> {
  const { codename } = machineRelease();
  const tar = join(config.cacheDir, baseTarName(codename));
  if (existsSync(tar) && !fresh) return tar;
  mkdirSync(config.cacheDir, { recursive: true, mode: 0o711 });
  const lock = await lockFile(
    join(config.cacheDir, "base.lock"),
    () => report.progress("waiting for another build of the base template"),
    signal,
  );
  try {
    if (fresh || !existsSync(tar)) await build(config, codename, tar, report, signal);
    return tar;
  } finally {
    lock.release();
  }
}

async function build(config: SetupConfig, codename: string, tar: string, report: StageReport, signal?: AbortSignal): Promise<void> {
  if (freeBytes(config.cacheDir) < BUILD_NEEDS_BYTES) {
    throw new AppError(
      "resource_exhausted",
      `building the base template takes 3 GiB in ${config.cacheDir}: make room, or set BOXYARD_CACHE`,
      {
        reason: "disk_full",
      },
    );
  }
  removeLeftovers(config.cacheDir);
  const work = mkdtempSync(join(config.cacheDir, "build-"));
  try {
    const recipe = readRecipe();
    mkdirSync(join(work, "tree"));
    writeFileSync(join(work, "machine.sources"), formatDeb822(machineSources(codename)));
    await using packages = await fetchNpmPackages(recipe, work, config.env, signal);
    const argv = await mmdebstrap({ ...recipe, hooks: copyHooks(recipe, work) }, { work, packages, codename, config });
    await runCommand(argv, {
      env: { ...systemEnv(config.env), TMPDIR: join(work, "tree") },
      onLine: (line) => report.progress(line.replace(/^I: /, "")),
      name: "mmdebstrap",
      fix: "Are the machine's package sources reachable ('apt-get update')?",
      signal: packages.signal,
      // `unshare` ignores other signals while its child runs. The child and its mounts end with it.
      killSignal: "SIGKILL",
    });
    await addEmptyDev(work);
    await runCommand(["sync", join(work, "tree.tar")]);
    renameSync(join(work, "tree.tar"), tar);
    removeOldTars(config.cacheDir);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Copies the hooks to the work directory, since other processes cannot execute files inside the single executable. */
function copyHooks({ hooks }: Recipe, work: string): string[] {
  mkdirSync(join(work, "hooks"));
  return hooks.map((hook) => {
    const copy = join(work, "hooks", basename(hook));
    writeFileSync(copy, readFileSync(hook));
    chmodSync(copy, 0o755);
    return copy;
  });
}

/** A mount point for /dev, which mmdebstrap leaves out together with the devices. */
async function addEmptyDev(work: string): Promise<void> {
  mkdirSync(join(work, "extra/dev"), { recursive: true });
  chmodSync(join(work, "extra/dev"), 0o755);
  await runCommand(["tar", "--append", `--file=${work}/tree.tar`, `--directory=${work}/extra`, "--owner=0", "--group=0", "./dev"]);
}

/** Removes what killed builds have left; called under the lock. Their mounts ended with their namespace. */
function removeLeftovers(cacheDir: string): void {
  for (const name of readdirSync(cacheDir)) {
    if (name.startsWith("build-") && statSync(join(cacheDir, name)).isDirectory())
      rmSync(join(cacheDir, name), { recursive: true, force: true });
  }
}

/** Removes trees of older recipes, except the last few: another checkout may share the cache. */
function removeOldTars(cacheDir: string): void {
  const tars = readdirSync(cacheDir)
    .filter((name) => /^base-[0-9a-f]+\.tar$/.test(name))
    .map((name) => ({ path: join(cacheDir, name), at: statSync(join(cacheDir, name)).mtimeMs }))
    .sort((a, b) => b.at - a.at);
  for (const { path } of tars.slice(TARS_KEPT)) rmSync(path, { force: true });
}

interface BuildInput {
  readonly work: string;
  readonly packages: FetchedPackages;
  readonly codename: string;
  readonly config: SetupConfig;
}

/**
 * The command that builds the tree. It runs in its own mount and pid namespaces and ends with this process, so that its mounts always end with it.
 * Devices are left out, because every sandbox gets its own.
 */
async function mmdebstrap(recipe: Recipe, { work, packages, codename, config }: BuildInput): Promise<[string, ...string[]]> {
  return [
    // This process has a stricter umask, and all users of a sandbox need the tree.
    ...(["sh", "-c", 'umask 022; exec "$@"', "sh"] as const),
    ...(["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"] as const),
    ...(treeFitsMemory() ? IN_MEMORY : []),
    "mmdebstrap",
    "--mode=root",
    "--variant=essential",
    "--format=tar",
    "--skip=output/dev",
    `--include=${recipe.packages.join(",")}`,
    `--extract-hook=${afterExtraction(recipe.dpkgOptions)}`,
    ...(await machineAptSettings(systemEnv(config.env))).map((setting) => `--aptopt=${setting}`),
    `--customize-hook=${packages.waitForThem}`,
    ...recipe.hooks.map((hook) => `--customize-hook=${quoted(hook)} "$1" ${quoted(packages.npm)} ${quoted(packages.node)}`),
    codename,
    join(work, "tree.tar"),
    join(work, "machine.sources"),
  ];
}
