import { existsSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { SQL } from "bun";
import { keyIdOf, type Sealer } from "./sealer.ts";
import { forgetOldPages, sealedWithName } from "./secrets.ts";
import { SqlStore } from "./sql-store.ts";
import { type Row, text } from "./sql-values.ts";
import { KeyFiles } from "./store-key.ts";
import type { StorePlace } from "./store-place.ts";

/** The points of a rotation, in order, for tests that end the process there. */
export const ROTATION_POINTS = ["begun", "key made", "rows sealed", "committed", "key in place", "done"] as const;
export type RotationPoint = (typeof ROTATION_POINTS)[number];

/** Rows that are read at once. */
const ROWS_AT_ONCE = 500;

/** The key that the sandboxes of a node are sealed with, by its id; undefined where the store does not say so, or is not there yet. */
async function sealedWith(place: StorePlace, node: string): Promise<string | undefined> {
  if ("file" in place && !existsSync(place.file)) return undefined;
  const sql = await open(place);
  try {
    const [row] = (await sql`SELECT value FROM meta WHERE name = ${sealedWithName(node)}`) as Row[];
    return row && text(row.value);
  } finally {
    await sql.close();
  }
}

/**
 * The sealer of a data directory's store; makes the key the first time. A rotation that was broken off has left a second key: the store says whether it
 * has been sealed with that one already, so the store opens after a crash at any point.
 */
export async function settledSealer(dataDir: string, place: StorePlace, node: string): Promise<Sealer> {
  const files = new KeyFiles(dataDir);
  const next = files.next();
  if (next) {
    if ((await sealedWith(place, node)) === next.keyId) files.promote();
    else files.dropNext();
  }
  return files.sealer();
}

/**
 * Gives a data directory another key, and seals anew everything that the old one has sealed. No server may use the store meanwhile. First the new key
 * is written beside the old one, then all rows change in one transaction, then the new key takes the old one's place. Returns how many texts were sealed.
 */
export async function rotateStoreKey(
  dataDir: string,
  place: StorePlace,
  node: string,
  at: (point: RotationPoint) => void = () => {},
): Promise<number> {
  at("begun");
  const old = await settledSealer(dataDir, place, node);
  // Brings the schema up to date, and seals what an earlier version has left plain.
  await (await SqlStore.open(place, node, old)).close();
  const files = new KeyFiles(dataDir);
  const next = files.makeNext();
  at("key made");
  const sql = await open(place);
  try {
    const isFile = "file" in place;
    const sealed = await sql.begin(isFile ? "immediate" : "", async (tx) => {
      const count = await new Resealing(tx, old, next).all();
      await tx`UPDATE meta SET value = ${next.keyId} WHERE name = ${sealedWithName(node)}`;
      await refuseLeftovers(tx, isFile, old);
      at("rows sealed");
      return count;
    });
    at("committed");
    files.promote();
    at("key in place");
    // What the old key has sealed stands in free pages until then.
    if (isFile) await forgetOldPages(sql);
    at("done");
    return sealed;
  } finally {
    await sql.close();
  }
}

async function open(place: StorePlace): Promise<SQL> {
  if ("url" in place) return new SQL(place.url, { max: 1 });
  const sql = new SQL({ adapter: "sqlite", filename: place.file });
  await sql.unsafe("PRAGMA journal_mode = WAL");
  // The commit is on the disk before the key changes.
  await sql.unsafe("PRAGMA synchronous = FULL");
  await sql.unsafe("PRAGMA busy_timeout = 5000");
  return sql;
}

/** Seals with another key what one key has sealed, in every table that has such texts. */
class Resealing {
  private readonly tx: SQL;
  private readonly old: Sealer;
  private readonly next: Sealer;
  private count = 0;

  constructor(tx: SQL, old: Sealer, next: Sealer) {
    this.tx = tx;
    this.old = old;
    this.next = next;
  }

  async all(): Promise<number> {
    await this.metas();
    await this.column("secrets", "value", "secrets");
    await this.column("webhooks", "secret", "webhooks");
    for (const [column, rest] of [
      ["spec", ""],
      ["settings", "/settings"],
    ] as const) {
      await this.json("sandboxes", column, (id, members) => {
        if (typeof members.sealed === "string") members.sealed = this.again(members.sealed, `sandboxes/${id}${rest}`);
      });
    }
    await this.json("template_builds", "spec", (_id, spec) => {
      const snapshot = spec.snapshot as { id: string; sealedEnv: string } | undefined;
      if (snapshot) snapshot.sealedEnv = this.again(snapshot.sealedEnv, `snapshots/${snapshot.id}`);
    });
    return this.count;
  }

  /** The text sealed anew; unchanged if the old key has not sealed it. */
  private again(stored: string, place: string): string {
    if (keyIdOf(stored) !== this.old.keyId) return stored;
    this.count++;
    return this.next.seal(this.old.open(stored, place), place);
  }

  private async metas(): Promise<void> {
    const suffix = `@${this.old.keyId}`;
    const rows = (await this.tx`SELECT name, value FROM meta WHERE name LIKE ${`%${suffix}`}`) as Row[];
    for (const row of rows) {
      const name = text(row.name).slice(0, -suffix.length);
      const value = this.again(text(row.value), `meta/${name}`);
      await this.tx`UPDATE meta SET name = ${`${name}@${this.next.keyId}`}, value = ${value} WHERE name = ${text(row.name)}`;
    }
  }

  private async column(table: string, column: string, place: string): Promise<void> {
    await this.rows(table, column, async (id, stored) => {
      const again = this.again(stored, `${place}/${id}`);
      if (again !== stored) await this.write(table, column, id, again);
    });
  }

  private async json(table: string, column: string, change: (id: string, members: Record<string, unknown>) => void): Promise<void> {
    await this.rows(table, column, async (id, stored) => {
      if (!stored.includes("sealed.v1.")) return;
      const members = JSON.parse(stored) as Record<string, unknown>;
      change(id, members);
      await this.write(table, column, id, JSON.stringify(members));
    });
  }

  private async rows(table: string, column: string, visit: (id: string, stored: string) => Promise<void>): Promise<void> {
    const { tx } = this;
    for (let last = ""; ; ) {
      const rows =
        (await tx`SELECT id, ${tx(column)} AS stored FROM ${tx(table)} WHERE id > ${last} ORDER BY id LIMIT ${ROWS_AT_ONCE}`) as Row[];
      for (const row of rows) await visit(text(row.id), text(row.stored));
      if (rows.length < ROWS_AT_ONCE) return;
      last = text(rows.at(-1)?.id);
    }
  }

  private async write(table: string, column: string, id: string, value: string): Promise<void> {
    const { tx } = this;
    await tx`UPDATE ${tx(table)} SET ${tx({ [column]: value })} WHERE id = ${id}`;
  }
}

/** Throws when any column of any table still has a text of the old key: a column that this file does not know. The transaction is then rolled back. */
async function refuseLeftovers(tx: SQL, isFile: boolean, old: Sealer): Promise<void> {
  const columns = (await (isFile
    ? tx`SELECT m.name AS "table", p.name AS "column" FROM sqlite_master m JOIN pragma_table_info(m.name) p WHERE m.type = 'table'`
    : tx`SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
        WHERE table_schema = current_schema() AND data_type = 'text'`)) as Row[];
  const mark = `%sealed.v1.${old.keyId}.%`;
  for (const row of columns) {
    const [table, column] = [text(row.table), text(row.column)];
    const [left] = (await tx`SELECT 1 AS found FROM ${tx(table)} WHERE ${tx(column)} LIKE ${mark} LIMIT 1`) as Row[];
    if (left) {
      throw new AppError("internal", `The column ${column} of ${table} has texts of the old key: nothing was changed`, {
        reason: "unknown_sealed_column",
      });
    }
  }
}
