import { existsSync } from "node:fs";
import { forkServerFile } from "./fork-server.ts";
import { readInstance } from "./instance-file.ts";
import { silentReporter } from "./reporter.ts";
import { forkServer } from "./stages/fork-server.ts";
import type { SetupConfig } from "./types.ts";

/**
 * Makes what the driver needs to open and what the set-up of an earlier version did not make, so that `down --sandboxes` and `uninstall` work
 * after an upgrade without a new set-up. Changes nothing when nothing is missing.
 */
export async function completeSetup(config: SetupConfig): Promise<void> {
  if (!readInstance(config.dataDir) || existsSync(forkServerFile(config.dataDir))) return;
  await forkServer.run(config, silentReporter.begin(forkServer));
}
