import { existsSync, readdirSync } from "node:fs";
import { isSandboxId } from "@boxyard/core";
import { DataPaths } from "../../state/paths.ts";
import { type Check, ok, warn } from "../types.ts";

/** How many sandboxes a line names. */
const MOST_NAMED = 5;

/** Paused sandboxes whose memory is in their frozen processes alone, because their image could not be restored in a trial. */
export const trials: Check = {
  name: "paused sandboxes",
  look({ dataDir }) {
    const paths = new DataPaths(dataDir);
    const all = existsSync(paths.sandboxes) ? readdirSync(paths.sandboxes).filter(isSandboxId) : [];
    const failed = all.filter((id) => existsSync(paths.failedTrial(id)));
    if (failed.length === 0) return ok("no trial of the memory of a paused sandbox has failed");
    const names = failed.slice(0, MOST_NAMED).join(", ") + (failed.length > MOST_NAMED ? ", ..." : "");
    const found = `${failed.length} can be resumed with memory only as long as the server runs: ${names}`;
    return warn(found, "Resume them before the server ends; the server's log says why. Afterwards they start from their disk alone");
  },
};
