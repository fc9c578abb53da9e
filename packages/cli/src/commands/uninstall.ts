import { existsSync } from "node:fs";
import { AppError } from "@boxyard/core";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { canAsk, confirm } from "../output/confirm.ts";
import { runRole } from "../server-control/roles.ts";
import { stopServer } from "../server-control/stop.ts";
import { isInstalled, removeUnit } from "../service/systemd.ts";

/** The default name of the unit of `boxyard service install`. */
const SERVICE = "boxyard";

/** Exit code of the server's role when the directory is not a data directory of Boxyard. */
const NOTHING_REMOVED = 3;

export function configure(command: Command, context: CliContext): void {
  command
    .description(
      "Remove everything of Boxyard's from this machine: sandboxes, templates, keys, storage pool, network, settings of the kernel.",
    )
    .option("-y, --yes", "do not ask; where nobody can be asked, nothing is removed without this")
    .addHelpText("after", "\nPackages that set-up installed stay. Examples:\n  $ boxyard uninstall --yes")
    .action((options: { yes?: boolean }) => uninstall(options, context));
}

async function uninstall(options: { yes?: boolean }, context: CliContext): Promise<void> {
  const { config, output, signal } = context;
  if (process.getuid?.() !== 0) {
    const details = { hint: "Use sudo, with BOXYARD_DATA if it is set." };
    throw new AppError("permission_denied", "only root can release this machine's network, mounts and cgroups", {
      reason: "no_root",
      details,
    });
  }
  if (!existsSync(config.dataDir)) return output.line(`There is no ${config.dataDir}: nothing to remove.`);
  const question = `End every sandbox and remove every template, key and log in ${config.dataDir}?`;
  if (!options.yes && canAsk()) await confirm(question, context);
  else if (!options.yes) {
    const details = { hint: "`boxyard uninstall --yes` does it. `boxyard down --sandboxes` ends sandboxes and keeps templates and keys." };
    const message = `this would end every sandbox and remove every template, key and log in ${config.dataDir}`;
    throw new AppError("failed_precondition", message, { reason: "not_confirmed", details });
  }
  if (isInstalled(SERVICE, config)) removeUnit(SERVICE, config);
  await stopServer(config.dataDir, signal);
  const exitCode = await runRole(config, "uninstall", [], "progress");
  if (exitCode === NOTHING_REMOVED) {
    const details = { hint: "BOXYARD_DATA says which directory is meant." };
    throw new AppError("failed_precondition", "nothing was removed", { reason: "not_ours", details });
  }
  if (exitCode !== 0) {
    const details = { hint: "The lines above say what stopped it; `boxyard uninstall --yes` continues from there." };
    throw new AppError("internal", "not everything could be removed", { reason: "uninstall_failed", details });
  }
  await output.line("Boxyard has been removed from this machine.");
}
