import { AppError, type SandboxId } from "@boxyard/core";
import type { SQL } from "bun";
import type { SandboxFacts } from "./records.ts";
import { isSealed, keyIdOf, type Sealer } from "./sealer.ts";
import { type Row, text } from "./sql-values.ts";

/** The meta value with the id of the key of a node's sandboxes; missing while the node may have plain secrets. */
export const sealedWithName = (node: string) => `sealed-with/${node}`;
/** Meta values that earlier versions have kept plain. */
const PLAIN_METAS = ["token-seed", "upload-seed"];
/** Rows that are read at once while an old store is sealed. */
const ROWS_AT_ONCE = 500;

/** The members of a sandbox's facts that are sealed. */
type SecretFacts = Pick<SandboxFacts, "envVars" | "initKey">;
type StoredFacts = Omit<SandboxFacts, keyof SecretFacts> & (SecretFacts | { readonly sealed: string });

const factsPlace = (id: SandboxId) => `sandboxes/${id}`;
const metaPlace = (name: string) => `meta/${name}`;

/**
 * Seals and opens the secrets of the store: the seeds (all meta values that the server makes), and the environment and the init key of each
 * sandbox. Each data directory has its own key, so it has its own seeds and reads only its own sandboxes, also where several data directories use
 * one database, one after the other. Without a sealer the texts stay plain, which is for tests only.
 */
export class Secrets {
  private readonly sealer: Sealer | undefined;

  constructor(sealer: Sealer | undefined) {
    this.sealer = sealer;
  }

  /** The name of a meta value's row. */
  metaName(name: string): string {
    return this.sealer ? `${name}@${this.sealer.keyId}` : name;
  }

  sealMeta(name: string, value: string): string {
    return this.sealer?.seal(value, metaPlace(name)) ?? value;
  }

  openMeta(name: string, stored: string): string {
    return isSealed(stored) ? this.required().open(stored, metaPlace(name)) : stored;
  }

  seal(text: string, place: string): string {
    return this.sealer?.seal(text, place) ?? text;
  }

  /** The plain text; undefined for a text that another key has sealed. */
  unseal(stored: string, place: string): string | undefined {
    if (!isSealed(stored)) return stored;
    return keyIdOf(stored) === this.sealer?.keyId ? this.required().open(stored, place) : undefined;
  }

  /** The JSON for the row. */
  sealFacts(id: SandboxId, facts: SandboxFacts): string {
    if (!this.sealer) return JSON.stringify(facts);
    const { envVars, initKey, ...rest } = facts;
    const secret: SecretFacts = { envVars, initKey };
    return JSON.stringify({ ...rest, sealed: this.sealer.seal(JSON.stringify(secret), factsPlace(id)) } satisfies StoredFacts);
  }

  /** The facts of a row. `isNeeded`: false for a sandbox that this server does not use any more: its secrets are left empty if another key has sealed them. */
  openFacts(id: SandboxId, stored: string, isNeeded = true): SandboxFacts {
    const facts = JSON.parse(stored) as StoredFacts;
    if (!("sealed" in facts)) return facts;
    const { sealed, ...rest } = facts;
    if (!isNeeded && this.sealer && keyIdOf(sealed) !== this.sealer.keyId) return { ...rest, envVars: {}, initKey: "" };
    return { ...rest, ...(JSON.parse(this.required().open(sealed, factsPlace(id))) as SecretFacts) };
  }

  /**
   * Seals the secrets of a node that an earlier version has left plain, all of them or none. Returns true if there were any: the file's free pages
   * may still hold them then. Throws `data_loss`, reason `store_key`, when the node has living sandboxes of another key.
   */
  async adopt(tx: SQL, node: string): Promise<boolean> {
    if (!this.sealer) return false;
    const [known] = (await tx`SELECT value FROM meta WHERE name = ${sealedWithName(node)}`) as Row[];
    if (known && text(known.value) === this.sealer.keyId) return false;
    const sealed = (await this.sealMetas(tx)) + (await this.sealSandboxes(tx, node));
    await tx`INSERT INTO meta (name, value) VALUES (${sealedWithName(node)}, ${this.sealer.keyId})
      ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
    return sealed > 0;
  }

  private async sealMetas(tx: SQL): Promise<number> {
    const rows = (await tx`SELECT name, value FROM meta WHERE name IN ${tx(PLAIN_METAS)}`) as Row[];
    for (const row of rows) {
      const name = text(row.name);
      const value = this.sealMeta(name, this.openMeta(name, text(row.value)));
      await tx`INSERT INTO meta (name, value) VALUES (${this.metaName(name)}, ${value}) ON CONFLICT (name) DO NOTHING`;
      await tx`DELETE FROM meta WHERE name = ${name}`;
    }
    return rows.length;
  }

  private async sealSandboxes(tx: SQL, node: string): Promise<number> {
    let sealed = 0;
    for (let last = ""; ; ) {
      const rows = (await tx`SELECT id, spec, state FROM sandboxes WHERE node = ${node} AND id > ${last}
        ORDER BY id LIMIT ${ROWS_AT_ONCE}`) as Row[];
      for (const row of rows) {
        const id = text(row.id) as SandboxId;
        const facts = this.openFacts(id, text(row.spec), text(row.state) !== "dead");
        await tx`UPDATE sandboxes SET spec = ${this.sealFacts(id, facts)} WHERE id = ${id}`;
      }
      sealed += rows.length;
      if (rows.length < ROWS_AT_ONCE) return sealed;
      last = text(rows.at(-1)?.id);
    }
  }

  private required(): Sealer {
    if (this.sealer) return this.sealer;
    throw new AppError("failed_precondition", "The store's secrets are sealed, and there is no key to open them", { reason: "store_key" });
  }
}

/** Removes free pages of a SQLite file and the log, which may hold secrets that were plain. */
export async function forgetOldPages(sql: SQL): Promise<void> {
  await sql.unsafe("VACUUM");
  await sql.unsafe("PRAGMA wal_checkpoint(TRUNCATE)");
}
