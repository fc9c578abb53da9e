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
 * Makes a template that comes with Boxyard anew, from its recipe. It is a build like any other: its name means the new one when that is
 * whole, the old one until then and after a failure, and sandboxes of the old one go on.
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
  // As everybody's `base` is.
  await Template.setPublic(name, true, await connection(context));
}
