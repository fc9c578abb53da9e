import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError, CARRIED_DIRECTORY } from "@boxyard/core";
import { baseNpmPackages, hashSources, packCarried, unpackGuest } from "@boxyard/driver-local/carried";
import { ROOT } from "../config.ts";
import { fetchBaselineBun, fetchPackage } from "./fetch.ts";
import { packImages } from "./images.ts";
import type { BuildOptions } from "./options.ts";

const DIRECTORY = join(ROOT, "dist");
/** Packages that the first build fetches and later builds use. */
const FETCHED = join(DIRECTORY, "fetched");

/** Beginning of the name of a build's work directory; the process id of the build follows. */
const WORK = "work-";

export interface Executable {
  readonly path: string;
  /** Hash of everything that the executable is made from. */
  readonly build: string;
  readonly bytes: number;
  /** False if the existing executable is up to date. */
  readonly made: boolean;
}

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly progress: (text: string) => void;
}

/** Makes `dist/boxyard` (or `dist/boxyard-baseline`) for this machine's architecture, unless it exists and is up to date. */
export async function buildExecutable(options: BuildOptions, { env, progress }: Surroundings): Promise<Executable> {
  const name = options.baseline ? "boxyard-baseline" : "boxyard";
  const path = join(DIRECTORY, name);
  const build = buildKey(options.baseline);
  // The guest bundle of the images is there while the executable is made.
  if (!options.force && !options.images && isCurrent(path, build)) return { path, build, bytes: statSync(path).size, made: false };
  mkdirSync(DIRECTORY, { recursive: true });
  const work = join(DIRECTORY, `${WORK}${process.pid}`);
  removeLeftovers();
  mkdirSync(work);
  try {
    progress("runtime and packages");
    const runtime = await runtimeFile(options.baseline, env);
    const carried = join(work, CARRIED_DIRECTORY);
    mkdirSync(carried);
    const npmPackages: Record<string, string> = {};
    for (const { name, version } of baseNpmPackages()) npmPackages[name] = await fetchPackage(name, version, FETCHED, env);
    await packCarried(carried, { runtime, npmPackages, work, env, progress: (text) => progress(`guest bundle: ${text}`) });
    progress("compiling");
    await compile({ outfile: join(work, name), runtime, carried, build });
    progress("checking");
    const guest = join(work, "check");
    unpackGuest(carried, guest, join(work, name));
    if (options.images) {
      progress("images");
      await packImages({ executable: join(work, name), guest, directory: DIRECTORY, work });
    }
    renameSync(join(work, name), path);
    writeFileSync(`${path}.json`, `${JSON.stringify({ version: 1, build, bytes: statSync(path).size })}\n`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return { path, build, bytes: statSync(path).size, made: true };
}

/** Removes directories that killed builds left. */
function removeLeftovers(): void {
  for (const name of readdirSync(DIRECTORY)) {
    const isOurs = name === `${WORK}${process.pid}`;
    if (name.startsWith(WORK) && (isOurs || !existsSync(`/proc/${name.slice(WORK.length)}`)))
      rmSync(join(DIRECTORY, name), { recursive: true });
  }
}

/** Hash of all sources, of the packages' versions and of the runtime. */
function buildKey(baseline: boolean): string {
  const packages = readdirSync(join(ROOT, "packages")).sort();
  const paths = packages.flatMap((name) => [`packages/${name}/package.json`, `packages/${name}/src`]);
  return hashSources([...paths, "images", "native", "tools/executable", "package-lock.json"], [Bun.revision, process.arch, `${baseline}`]);
}

function isCurrent(path: string, build: string): boolean {
  try {
    const stamp = JSON.parse(readFileSync(`${path}.json`, "utf8")) as { build?: unknown; bytes?: unknown };
    return stamp.build === build && stamp.bytes === statSync(path).size;
  } catch {
    return false;
  }
}

async function runtimeFile(baseline: boolean, env: Surroundings["env"]): Promise<string> {
  if (!baseline) return process.execPath;
  if (process.arch !== "x64") throw new AppError("invalid_argument", "only x86-64 has a baseline build", { reason: "usage" });
  const installed = join(ROOT, "node_modules/@oven/bun-linux-x64-baseline/bin/bun");
  return existsSync(installed) ? installed : fetchBaselineBun(Bun.version, FETCHED, env);
}

interface CompileInput {
  readonly outfile: string;
  readonly runtime: string;
  readonly carried: string;
  readonly build: string;
}

/** Bytecode in chunks: the client starts without loading the server's code, and without parsing any. Source maps serve stack traces (1.4 MB). */
async function compile({ outfile, runtime, carried, build }: CompileInput): Promise<void> {
  await Bun.build({
    entrypoints: [join(import.meta.dir, "entry.ts")],
    target: "bun",
    format: "esm",
    splitting: true,
    minify: true,
    bytecode: true,
    sourcemap: "linked",
    define: { BOXYARD_BUILD: JSON.stringify(build) },
    compile: {
      outfile,
      executablePath: runtime,
      assets: [carried],
      // Files in the working directory must not configure the executable.
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  });
}
