import { existsSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { runRole } from "../server-control/roles.ts";
import { stopServer } from "../server-control/stop.ts";

export function configure(command: Command, context: CliContext): void {
  command
    .description("Stop the server on this machine. Sandboxes keep running, and the next server takes them over.")
    .option("--sandboxes", "also end every sandbox, paused ones too, and release everything that the machine holds for them")
    .addHelpText("after", "\nExamples:\n  $ boxyard down\n  $ boxyard down --sandboxes")
    .action((options: { sandboxes?: boolean }) => down(options, context));
}

async function down(options: { sandboxes?: boolean }, context: CliContext): Promise<void> {
  const { config, output, signal } = context;
  const stopped = await stopServer(config.dataDir, signal);
  await output.line(stopped ? `The server (pid ${stopped.pid}) has ended.` : "No server is running.");
  if (!options.sandboxes) return;
  if (!mayHoldSandboxes(config.dataDir)) return output.line(`There are no sandboxes to end: ${config.dataDir} was never set up.`);
  const exitCode = await runRole(config, "release", ["--sandboxes"], "progress");
  if (exitCode !== 0) {
    const details = { hint: "The lines above say what is left; run `boxyard down --sandboxes` again to release it." };
    throw new AppError("internal", "not everything could be released", { reason: "release_failed", details });
  }
  await output.line("Every sandbox has ended, and nothing is left of them.");
}

/** False when set-up has never begun in the data directory: it makes both of these before there can be a sandbox. */
function mayHoldSandboxes(dataDir: string): boolean {
  return ["instance.json", "sandboxes"].some((name) => existsSync(join(dataDir, name)));
}
