import { existsSync } from "node:fs";
import { AppError } from "@boxyard/core";
import type { ServerConfig } from "../config.ts";
import { rotateKeyOf } from "../open-store.ts";
import { lockDataDir } from "../server-file.ts";

/** Replaces the key of the store while no server runs. Returns the exit code. */
export async function rotateStore(config: ServerConfig): Promise<number> {
  if (!existsSync(config.dataDir)) {
    throw new AppError("not_found", `There is no data directory ${config.dataDir}`, { reason: "no_data_directory" });
  }
  const lock = lockDataDir(config.dataDir);
  try {
    const sealed = await rotateKeyOf(config);
    console.log(`The store has another key; ${sealed} texts were sealed anew.`);
    console.error("Back up the data directory again: the new key opens no earlier backup of the store.");
    return 0;
  } finally {
    lock.release();
  }
}
