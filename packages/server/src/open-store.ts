import { join } from "node:path";
import { systemClock } from "@boxyard/core";
import type { ServerConfig } from "./config.ts";
import { nodeIdOf } from "./node-id.ts";
import { prepareForReplicas, rotateStoreKey, SHARED_NODE, SqlStore, type Store, settledSealer } from "./store/index.ts";

type Where = Pick<ServerConfig, "dataDir" | "databaseUrl">;

const placeOf = ({ dataDir, databaseUrl }: Where, exclusive = false) =>
  databaseUrl === undefined ? { file: join(dataDir, "boxyard.db"), exclusive } : { url: databaseUrl };

/** Opens the store of a data directory. `exclusive`: no other process may open it meanwhile, so no other process can damage the index in shared memory. */
export async function openStore(where: ServerConfig, exclusive = false, clock = systemClock): Promise<Store> {
  const place = placeOf(where, exclusive);
  const node = nodeIdOf(where.dataDir);
  return SqlStore.open(place, node, await settledSealer(where.dataDir, place, node), clock);
}

/** Opens the store that several servers share, for the owner's `epoch`. */
export async function openSharedStore({ dataDir, databaseUrl: url = "" }: Where, epoch: number, clock = systemClock): Promise<Store> {
  return SqlStore.open({ url, epoch }, SHARED_NODE, await settledSealer(dataDir, { url }, SHARED_NODE), clock);
}

/** Brings the schema of the shared store up to date, and makes what several servers need. Gives the key by which they know each other. Throws as `openStore`. */
export async function prepareSharedStore({ dataDir, databaseUrl: url = "" }: Where, clock = systemClock): Promise<Uint8Array> {
  const sealer = await settledSealer(dataDir, { url }, SHARED_NODE);
  await (await SqlStore.open({ url }, SHARED_NODE, sealer, clock)).close();
  await prepareForReplicas(url);
  return sealer.derive("requests between servers");
}

/** Replaces the key of a data directory's store, which no server uses. Returns how many texts were sealed anew. */
export function rotateKeyOf(where: Where): Promise<number> {
  return rotateStoreKey(where.dataDir, placeOf(where), nodeIdOf(where.dataDir));
}
