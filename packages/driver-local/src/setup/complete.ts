import { readInstance } from "./instance-file.ts";
import { silentReporter } from "./reporter.ts";
import { forkServer } from "./stages/fork-server.ts";
import type { SetupConfig } from "./types.ts";

/**
 * Makes what opening the driver needs, and what a set-up by an earlier version has not made: so that `down --sandboxes` and `uninstall` work
 * after an upgrade without a set-up before them. Changes nothing where there is nothing to complete.
 */
export async function completeSetup(config: SetupConfig): Promise<void> {
  if (!readInstance(config.dataDir) || (await forkServer.isDone(config))) return;
  await forkServer.run(config, silentReporter.begin(forkServer));
}
