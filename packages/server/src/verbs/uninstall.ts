import { isAppError } from "@boxyard/core";
import type { ServerConfig } from "../config.ts";
import type { Machine } from "../machine.ts";
import { release } from "./release.ts";

/** Exit code when the directory is not a data directory of Boxyard: nothing was removed. */
const NOTHING_REMOVED = 3;

/** Ends every sandbox, releases what the driver holds on the machine, and undoes the set-up. Returns the exit code. */
export async function uninstall(config: ServerConfig, machine: Machine): Promise<number> {
  // An unfinished set-up, or an interrupted removal, has nothing that a driver would have to release.
  const exitCode = machine.isInstalled() ? await release(config, machine, ["--sandboxes"]) : 0;
  if (exitCode !== 0) return exitCode;
  try {
    for (const sentence of await machine.uninstall()) console.error(sentence);
    return 0;
  } catch (error) {
    if (!isAppError(error) || error.reason !== "not_ours") throw error;
    console.error(`${error.message}.`);
    return NOTHING_REMOVED;
  }
}
