import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { hashSources } from "../checkout.ts";
import { resources } from "../resources.ts";

const DIRECTORY = "images/base";
/** To be raised when a change of the build changes the tree. */
const TREE_VERSION = "4";

/** The content of images/base/. */
export interface Recipe {
  readonly packages: readonly string[];
  readonly npmVersion: string;
  readonly nodeVersion: string;
  /** Lines for dpkg's configuration, in the build and in sandboxes. */
  readonly dpkgOptions: readonly string[];
  /** Paths of the scripts, in order. */
  readonly hooks: readonly string[];
}

/** A template's settings as in `templates/<name>.json`, without the image. */
export interface TemplateSettings {
  readonly name: string;
  readonly cpuCount: number;
  readonly memoryMB: number;
  readonly diskMB: number;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly workdir: string;
}

/** The lines of a text without comments, surrounding blanks and empty lines. */
export function meaningfulLines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.replace(/#.*/, "").trim())
    .filter((line) => line !== "");
}

export function readRecipe(): Recipe {
  const directory = join(resources.root, DIRECTORY);
  const lines = (name: string) => meaningfulLines(readFileSync(join(directory, name), "utf8"));
  return {
    packages: lines("packages"),
    npmVersion: lines("npm-version")[0] ?? "",
    nodeVersion: lines("node-version")[0] ?? "",
    dpkgOptions: lines("dpkg.conf"),
    hooks: readdirSync(join(directory, "hooks"))
      .sort()
      .map((name) => join(directory, "hooks", name)),
  };
}

export function readSettings(): TemplateSettings {
  return JSON.parse(readFileSync(join(resources.root, DIRECTORY, "settings.json"), "utf8")) as TemplateSettings;
}

/** Hash of everything that the tree is built from. */
export function recipeKey(codename: string): string {
  return hashSources(
    ["packages", "npm-version", "node-version", "dpkg.conf", "hooks"].map((name) => `${DIRECTORY}/${name}`),
    [TREE_VERSION, codename, process.arch],
    resources.root,
  );
}

/** Hash of what the template depends on besides the tree. */
export function settingsKey(): string {
  return hashSources([`${DIRECTORY}/settings.json`], [], resources.root);
}
