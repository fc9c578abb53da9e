import { SQL } from "bun";
import { EPOCH_PARAMETER, makeFence } from "./fence.ts";
import { lockSchema } from "./migrate.ts";
import { storeFault } from "./store-fault.ts";
import { nameOf, type PostgresPlace } from "./store-place.ts";

/** The node of sandboxes that several servers on one database share. */
export const SHARED_NODE = "replicas";

/** The connections of a store, which say for which epoch they write. */
export function connectionsTo({ url, epoch }: PostgresPlace): SQL {
  return epoch === undefined ? new SQL(url) : new SQL(url, { connection: { [EPOCH_PARAMETER]: String(epoch) } });
}

/** Makes what several servers on one database need, once its schema is up to date. Repeatable, also at the same time. */
export async function prepareForReplicas(url: string): Promise<void> {
  const sql = new SQL(url, { max: 1, connectionTimeout: 10 });
  try {
    await sql.begin(async (tx) => {
      // A transaction of a server that hangs may hold a table.
      await tx.unsafe("SET LOCAL lock_timeout = '10s'");
      await lockSchema(tx);
      await makeFence(tx);
    });
  } catch (error) {
    throw storeFault(error, nameOf({ url })) ?? error;
  } finally {
    await sql.close({ timeout: 0 });
  }
}
