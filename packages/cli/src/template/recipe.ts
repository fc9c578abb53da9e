import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { CARRIED_DIRECTORY, executableBuild } from "@boxyard/core";
import { usageError } from "../errors.ts";

/** Templates that come with Boxyard, by name. */
const SHIPPED: readonly string[] = ["base", "code-interpreter", "mcp-gateway"];

/** The members of a recipe's `settings.json` that belong to a build from its Dockerfile. */
export interface RecipeSettings {
  readonly cpuCount: number;
  readonly memoryMB: number;
  readonly readyCmd?: string;
}

export interface Recipe extends Disposable {
  /** Holds the Dockerfile and the files it copies. */
  readonly directory: string;
  readonly settings: RecipeSettings;
}

const images =
  executableBuild === undefined ? resolve(import.meta.dir, "../../../../images") : join(import.meta.dir, CARRIED_DIRECTORY, "images");

/** Throws a usage error for a template that does not come with Boxyard. */
export function checkShipped(name: string): void {
  if (!SHIPPED.includes(name)) throw usageError(`'${name}' does not come with Boxyard; ${SHIPPED.join(", ")} do`);
}

/** The recipe of a template that comes with Boxyard, as a directory until it is disposed of. */
export function openRecipe(name: string): Recipe {
  const from = join(images, name);
  const settings = JSON.parse(readFileSync(join(from, "settings.json"), "utf8")) as RecipeSettings;
  if (executableBuild === undefined) return { directory: from, settings, [Symbol.dispose]: () => {} };
  const directory = mkdtempSync(join(tmpdir(), "boxyard-recipe-"));
  try {
    copyOut(from, directory);
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
  return { directory, settings, [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
}

/** Copies files that the executable carries: only its own process can read them, and they have no modes. */
function copyOut(from: string, to: string): void {
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const target = join(to, path.slice(from.length + 1));
    mkdirSync(dirname(target), { recursive: true, mode: 0o755 });
    writeFileSync(target, readFileSync(path));
    chmodSync(target, 0o644);
  }
}
