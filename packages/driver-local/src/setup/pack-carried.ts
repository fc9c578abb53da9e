import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type NpmPackage, npmPackagesOf } from "./base/npm.ts";
import { readRecipe } from "./base/recipe.ts";
import { buildDashboard } from "./builders/dashboard.ts";
import { buildSdk } from "./builders/sdk.ts";
import { makePatch } from "./carried/runtime-patch.ts";
import {
  AGENT,
  type CarriedFacts,
  COMPRESSED_SUFFIX,
  CRIU_PRELOAD,
  DASHBOARD,
  FACTS_FILE,
  FORK_SERVER,
  GUEST_DIRECTORY,
  PATCH_SUFFIX,
  SDK_PACKAGE,
} from "./carried/unpack.ts";
import { CHECKOUT } from "./checkout.ts";
import { buildCriuPreload, buildForkServer, forkServerKey } from "./fork-server.ts";
import { buildGuest, guestKey } from "./guest/build.ts";

/** Level of zstd: slow, for a few MB of libraries and helpers. */
const LEVEL = 19;

export interface PackOptions {
  /** Path of the Bun that the executable is made of; the agent is compiled with the same Bun. */
  readonly runtime: string;
  /** Paths of the packages of npm's registry in the base template, by their names. */
  readonly npmPackages: Readonly<Record<string, string>>;
  /** A directory to work in. */
  readonly work: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly progress: (text: string) => void;
}

/** Templates whose recipes the executable carries. */
const CARRIED_TEMPLATES = ["base", "code-interpreter", "mcp-gateway"];
/** Files that are made while people work on a recipe are left out. */
const RECIPE = { recursive: true, filter: (path: string) => !/\/(__pycache__|node_modules|tests)$/.test(path) };

/** The packages of npm's registry that `images/base/` names. */
export const baseNpmPackages = (): NpmPackage[] => Object.values(npmPackagesOf(readRecipe()));

/** Builds what the executable carries, into the new directory `target`. */
export async function packCarried(target: string, { runtime, npmPackages, work, env, progress }: PackOptions): Promise<void> {
  const guest = join(work, "guest");
  mkdirSync(guest);
  await buildGuest(guest, { env, runtime, progress });
  progress("packing");
  packGuest(guest, readFileSync(runtime), join(target, GUEST_DIRECTORY));
  for (const template of CARRIED_TEMPLATES) cpSync(join(CHECKOUT, "images", template), join(target, "images", template), RECIPE);
  const helpers = [
    { name: FORK_SERVER, build: buildForkServer },
    { name: CRIU_PRELOAD, build: buildCriuPreload },
  ];
  for (const { name, build } of helpers) {
    const built = join(work, name.slice(0, -COMPRESSED_SUFFIX.length));
    await build(built, env);
    writeFileSync(join(target, name), Bun.zstdCompressSync(readFileSync(built), { level: LEVEL }));
  }
  const names = Object.entries(npmPackages).map(([name, path]) => [name, basename(path)]);
  const facts: CarriedFacts = { version: 3, guestKey: guestKey(), forkServerKey: forkServerKey(), npmPackages: Object.fromEntries(names) };
  await buildSdk(join(target, SDK_PACKAGE), env);
  progress("dashboard");
  await buildDashboard(join(target, DASHBOARD), env);
  for (const path of Object.values(npmPackages)) cpSync(path, join(target, basename(path)));
  writeFileSync(join(target, FACTS_FILE), `${JSON.stringify(facts)}\n`);
}

/** Writes the files of the bundle at `guest`, compressed one by one, below `target`. */
export function packGuest(guest: string, runtime: Uint8Array, target: string): void {
  for (const entry of readdirSync(guest, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const content = readFileSync(path);
    const isAgent = path === join(guest, AGENT);
    const packed = join(target, `${path.slice(guest.length + 1)}${isAgent ? PATCH_SUFFIX : ""}${COMPRESSED_SUFFIX}`);
    mkdirSync(dirname(packed), { recursive: true });
    writeFileSync(packed, Bun.zstdCompressSync(isAgent ? makePatch(runtime, content) : content, { level: LEVEL }));
  }
}
