import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { Template } from "@boxyard/sdk/template";
import { connection, isRemote } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { runRole } from "../server-control/roles.ts";
import { buildAs } from "./build.ts";
import { openRecipe } from "./recipe.ts";

const ARCHIVE = /^rebuild-base-(\d+)\.tar(?:\.new)?$/;

/** Builds `base` from this machine's packages, then uploads it to the server as an archive. */
export async function rebuildBase(options: { readonly json?: boolean }, context: CliContext): Promise<void> {
  const { config } = context;
  if (isRemote(config)) {
    const message = "base is built from the packages of the server's machine: run this there, without BOXYARD_API_URL";
    throw new AppError("failed_precondition", message, { reason: "remote_server" });
  }
  await connection(context);
  removeLeftovers(config.dataDir);
  const path = join(config.dataDir, `rebuild-base-${process.pid}.tar`);
  try {
    const exitCode = await runRole(config, "base-archive", [path], "progress");
    if (exitCode !== 0) {
      const details = { hint: "The lines above say what is missing. The template base is unchanged." };
      throw new AppError("failed_precondition", "base was not built", { reason: "rebuild_failed", details });
    }
    using recipe = openRecipe("base");
    const { cpuCount, memoryMB } = recipe.settings;
    await buildAs(
      "base",
      Template.fromArchive(path),
      { cache: true, json: options.json === true, cpus: cpuCount, memory: memoryMB },
      context,
    );
  } finally {
    for (const left of [path, `${path}.new`]) rmSync(left, { force: true });
  }
}

/** Archives of commands that were killed. */
function removeLeftovers(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    const pid = ARCHIVE.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(dataDir, name), { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: unknown }).code === "EPERM";
  }
}
