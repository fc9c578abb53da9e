import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Template } from "@boxyard/sdk/template";
import { connection } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { buildAs } from "./build.ts";
import { checkShipped, openRecipe } from "./recipe.ts";

export interface RebuildOptions {
  readonly cache: boolean;
  readonly json?: boolean;
}

/**
 * Builds a template that comes with Boxyard again, from its recipe, like any other build: its name means the new version once the build has
 * succeeded, and the old one until then and after a failure. Sandboxes of the old version keep running.
 */
export async function rebuild(name: string, options: RebuildOptions, context: CliContext): Promise<void> {
  checkShipped(name);
  if (name === "base") {
    const { rebuildBase } = await import("./rebuild-base.ts");
    return rebuildBase(options, context);
  }
  using recipe = openRecipe(name);
  const path = join(recipe.directory, "Dockerfile");
  const { cpuCount, memoryMB, readyCmd } = recipe.settings;
  const steps = Template.fromDockerfile(readFileSync(path, "utf8"), { context: recipe.directory, file: path });
  const template = readyCmd === undefined ? steps : steps.setReadyCmd(readyCmd);
  await buildAs(name, template, { ...options, cpus: cpuCount, memory: memoryMB }, context);
  // Public, as `base` is.
  await Template.setPublic(name, true, await connection(context));
}
