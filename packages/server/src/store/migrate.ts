import { AppError, type Clock } from "@boxyard/core";
import type { SQL } from "bun";
import { MIGRATIONS } from "./migrations.ts";
import { num, type Row } from "./sql-values.ts";

/** Key of the PostgreSQL lock under which one process at a time changes the schema; no other program uses this number. */
const SCHEMA_LOCK = 0x626f7901;

/** Until the end of the transaction no other process changes the schema. */
export const lockSchema = (tx: SQL) => tx`SELECT pg_advisory_xact_lock(${SCHEMA_LOCK})`;

export interface MigrationOptions<T> {
  readonly kind: "sqlite" | "postgres";
  readonly clock: Clock;
  /** The end of the transaction. */
  readonly last: (tx: SQL) => Promise<T>;
}

/**
 * Brings the schema up to date, then runs `last` in the same transaction and returns its result: all of it, or nothing. Throws
 * `failed_precondition`, reason `store_too_new`, when a newer version has changed the schema.
 */
export async function migrate<T>(sql: SQL, { kind, clock, last }: MigrationOptions<T>): Promise<T> {
  // `immediate` makes SQLite lock at the begin. Else two processes could both find the old schema, and one would fail.
  return await sql.begin(kind === "sqlite" ? "immediate" : "", async (tx) => {
    if (kind === "postgres") await lockSchema(tx);
    await tx.unsafe("CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)");
    const rows = (await tx`SELECT version FROM migrations`) as Row[];
    const done = new Set(rows.map((row) => num(row.version)));
    refuseNewer(done);
    for (const { version, name, statements, work } of MIGRATIONS) {
      if (done.has(version)) continue;
      for (const statement of statements) await tx.unsafe(statement);
      await work?.(tx);
      await tx`INSERT INTO migrations ${tx({ version, name, applied_at: clock.now() })}`;
    }
    return await last(tx);
  });
}

function refuseNewer(done: ReadonlySet<number>): void {
  const newest = MIGRATIONS.at(-1)?.version ?? 0;
  const unknown = [...done].find((version) => version > newest);
  if (unknown === undefined) return;
  throw new AppError(
    "failed_precondition",
    `The store was written by a newer version of Boxyard (schema ${unknown}, this one knows ${newest})`,
    { reason: "store_too_new" },
  );
}
