import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { acquireLock } from "../server-control/lock.ts";
import { runSetup } from "../server-control/roles.ts";
import { makeDataDir } from "../server-control/start.ts";

const LOCK_LIMIT_MS = 30 * 60_000;

export function configure(command: Command, context: CliContext): void {
  command
    .description("Set this machine up: packages, storage pool, guest bundle, base template, API key. Does only what is missing.")
    .option("--tune", "also change machine-wide kernel settings that make sandboxes start quicker")
    .addHelpText("after", "\nExamples:\n  $ boxyard setup\n  $ boxyard setup --tune")
    .action((options: { tune?: boolean }) => setup(options, context));
}

async function setup(options: { tune?: boolean }, context: CliContext): Promise<void> {
  const { config, output, signal } = context;
  makeDataDir(config);
  const onWait = () => output.note("another boxyard command is setting this machine up; waiting for it");
  const lock = await acquireLock(config.dataDir, { limitMs: LOCK_LIMIT_MS, onWait, signal });
  try {
    await runSetup(config, options.tune ? ["--tune"] : []);
  } finally {
    lock.release();
  }
}
