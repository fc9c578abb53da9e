import { createHash } from "node:crypto";
import type { SQL } from "bun";
import { num, type Row, text } from "./sql-values.ts";

/** Class of the advisory locks with which commits of owners and changes of the owner wait for each other; the object is the schema. */
const FENCE_SPACE = 0x626f7902;

/** SQLSTATE of a write that the fence refuses. */
export const FENCED = "BX001";

/** The parameter of a connection that says for which epoch it writes. */
export const EPOCH_PARAMETER = "boxyard.epoch";

/** The table with the owner's lease, which the fence reads, and tables that no owner writes. */
export const LEASE_TABLE = "replica_lease";
const UNFENCED = [LEASE_TABLE, "replicas", "migrations"];

/** The lock of the fence; `mode` is `_shared` for a commit, empty for a change of the owner. */
export const fenceLock = (mode: "" | "_shared") => `pg_advisory_xact_lock${mode}(${FENCE_SPACE}, hashtext(coalesce(current_schema(), '')))`;

const FUNCTIONS = `
CREATE OR REPLACE FUNCTION boxyard_fence_epoch() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT epoch FROM ${LEASE_TABLE} WHERE name = 'owner'
$$;
CREATE OR REPLACE FUNCTION boxyard_fence_refuse() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'another replica owns the sandboxes' USING ERRCODE = '${FENCED}';
END $$;
CREATE OR REPLACE FUNCTION boxyard_fence_due() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  mine text := current_setting('${EPOCH_PARAMETER}', true);
  this text := txid_current()::text;
BEGIN
  IF mine IS NULL OR mine = '' OR current_setting('boxyard.checked', true) = this THEN RETURN false; END IF;
  IF boxyard_fence_epoch() IS DISTINCT FROM mine::bigint THEN PERFORM boxyard_fence_refuse(); END IF;
  PERFORM set_config('boxyard.checked', this, true);
  RETURN true;
END $$;
CREATE OR REPLACE FUNCTION boxyard_fence() RETURNS trigger LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM ${fenceLock("_shared")};
  IF boxyard_fence_epoch() IS DISTINCT FROM current_setting('${EPOCH_PARAMETER}')::bigint THEN PERFORM boxyard_fence_refuse(); END IF;
  RETURN NULL;
END $$;`;

const triggerOn = (table: string) => `
DROP TRIGGER IF EXISTS boxyard_fence ON "${table}";
CREATE CONSTRAINT TRIGGER boxyard_fence AFTER INSERT OR UPDATE OR DELETE ON "${table}" DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (boxyard_fence_due()) EXECUTE FUNCTION boxyard_fence();`;

/**
 * Makes the fence, in the transaction of `tx`: the lease's table, and a trigger on every table that an owner writes.
 *
 * A connection of an owner says its epoch with `EPOCH_PARAMETER`. The first write of each of its transactions compares the epoch with that of the lease, and the
 * commit compares once more, under a lock that a change of the owner waits for. So a transaction that stalled before a change of the owner cannot be
 * committed after it, however long its client sleeps. Connections without an epoch are those of operators, and of servers without replicas.
 *
 * The fence is made anew when its text or the list of tables has changed, or when a trigger is missing.
 */
export async function makeFence(tx: SQL): Promise<void> {
  await tx.unsafe(`CREATE TABLE IF NOT EXISTS ${LEASE_TABLE} (name TEXT PRIMARY KEY, epoch BIGINT NOT NULL, holder TEXT NOT NULL,
    address TEXT NOT NULL, expires_at TIMESTAMPTZ NOT NULL)`);
  await tx.unsafe("CREATE TABLE IF NOT EXISTS replicas (id TEXT PRIMARY KEY, address TEXT NOT NULL, seen_at TIMESTAMPTZ NOT NULL)");
  await tx.unsafe(`INSERT INTO ${LEASE_TABLE} VALUES ('owner', 0, '', '', clock_timestamp()) ON CONFLICT (name) DO NOTHING`);
  const tables = await fencedTables(tx);
  const script = FUNCTIONS + tables.map(triggerOn).join("");
  const digest = createHash("sha256").update(script).digest("hex");
  const [made] = (await tx`SELECT value FROM meta WHERE name = 'fence'`) as Row[];
  if (made && text(made.value) === digest && (await countTriggers(tx)) === tables.length) return;
  await tx.unsafe(script);
  await tx`INSERT INTO meta (name, value) VALUES ('fence', ${digest}) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
}

async function fencedTables(tx: SQL): Promise<string[]> {
  const rows = (await tx`SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`) as Row[];
  const isFenced = (name: string) => !UNFENCED.includes(name);
  return rows
    .map(({ relname }) => text(relname))
    .filter(isFenced)
    .sort();
}

async function countTriggers(tx: SQL): Promise<number> {
  const [row] = (await tx`SELECT count(*) AS count FROM pg_trigger, pg_class
    WHERE tgrelid = pg_class.oid AND tgname = 'boxyard_fence' AND tgenabled = 'O' AND relnamespace = current_schema()::regnamespace`) as Row[];
  return num(row?.count);
}
