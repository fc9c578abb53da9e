import { isAppError, systemClock } from "@boxyard/core";
import type { FileLock } from "@boxyard/core/file-lock";
import type { ServerConfig } from "../config.ts";
import { ensureFirstKey } from "../keys/first-key.ts";
import type { Machine } from "../machine.ts";
import { openStore } from "../open-store.ts";
import { lockDataDir } from "../server-file.ts";

/** Sets the machine up, then makes the first API key, which is printed only this time. Returns the exit code. */
export async function setup(config: ServerConfig, machine: Machine, args: readonly string[]): Promise<number> {
  await machine.setUp(args);
  const lock = lockUnlessServerRuns(config.dataDir);
  // A running server has made the first key, and holds the store's lock.
  if (!lock) return 0;
  const store = await openStore(config).catch((error: unknown) => {
    lock.release();
    throw error;
  });
  try {
    const { path, key, created } = await ensureFirstKey(store, config.dataDir, systemClock.now());
    if (created) console.error(`setup: your API key is ${key} (kept in ${path}, readable by root)`);
  } finally {
    await store.close();
    lock.release();
  }
  return 0;
}

function lockUnlessServerRuns(dataDir: string): FileLock | undefined {
  try {
    return lockDataDir(dataDir);
  } catch (error) {
    if (isAppError(error) && error.reason === "server_running") return undefined;
    throw error;
  }
}
