import { join } from "node:path";
import { systemClock } from "@boxyard/core";
import type { ServerConfig } from "./config.ts";
import { nodeIdOf } from "./node-id.ts";
import { openSealer, SqlStore, type Store } from "./store/index.ts";

/** Opens the store of a data directory. `exclusive`: no other process may open it meanwhile, so no other process can damage the index in shared memory. */
export async function openStore({ dataDir, databaseUrl }: ServerConfig, exclusive = false, clock = systemClock): Promise<Store> {
  const place = databaseUrl === undefined ? { file: join(dataDir, "boxyard.db"), exclusive } : { url: databaseUrl };
  return SqlStore.open(place, nodeIdOf(dataDir), openSealer(dataDir), clock);
}
