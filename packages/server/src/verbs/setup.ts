import { systemClock } from "@boxyard/core";
import type { ServerConfig } from "../config.ts";
import { openStore } from "../context.ts";
import { ensureFirstKey } from "../keys/keys.ts";
import type { Machine } from "../machine.ts";

/** Makes the machine ready, then the first API key, which is shown this once. Returns the exit code. */
export async function setup(config: ServerConfig, machine: Machine, args: readonly string[]): Promise<number> {
  await machine.setUp(args);
  const store = await openStore(config);
  try {
    const { path, key, created } = await ensureFirstKey(store, config.dataFolder, systemClock.now());
    if (created) console.error(`setup: your API key is ${key} (kept in ${path}, readable by root)`);
  } finally {
    await store.close();
  }
  return 0;
}
