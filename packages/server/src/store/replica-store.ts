import { AppError } from "@boxyard/core";
import { SQL } from "bun";
import { EPOCH_PARAMETER, makeFence } from "./fence.ts";
import { lockSchema } from "./migrate.ts";
import { type Row, text } from "./sql-values.ts";
import { storeFault } from "./store-fault.ts";
import { nameOf, type PostgresPlace } from "./store-place.ts";

/** The node of sandboxes that several servers on one database share. */
export const SHARED_NODE = "replicas";

/** The connections of a store, which say for which epoch they write. */
export function connectionsTo({ url, epoch }: PostgresPlace): SQL {
  return epoch === undefined ? new SQL(url) : new SQL(url, { connection: { [EPOCH_PARAMETER]: String(epoch) } });
}

/** Throws `failed_precondition` when the database does not know the epoch of these connections: the fence would let all of their writes pass. */
export async function checkFenced(sql: SQL, epoch: number): Promise<void> {
  const [row] = (await sql`SELECT current_setting(${EPOCH_PARAMETER}, true) AS epoch`) as Row[];
  if (text(row?.epoch ?? "") === String(epoch)) return;
  const message = `The connections to the database do not pass the parameter ${EPOCH_PARAMETER} on: DATABASE_URL of several servers must lead to PostgreSQL itself, and not to a pooler`;
  throw new AppError("failed_precondition", message, { reason: "not_fenced" });
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
