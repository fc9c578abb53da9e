import { AppError, type SandboxId } from "@boxyard/core";
import type { SQL } from "bun";
import type { SandboxFacts } from "./records.ts";
import { isSealed, type Sealer, wrongKey } from "./sealer.ts";
import { type Row, text } from "./sql-values.ts";

/** Meta value that names the key of all sealed texts; missing while the store still has plain ones. */
const KEY_NAME = "sealed-with";
/** Rows rewritten by one statement's answer; the rest of an old store comes with the next. */
const ROWS_AT_ONCE = 500;

/** The members of a sandbox's facts that nobody who reads the store may learn. */
type SecretFacts = Pick<SandboxFacts, "envVars" | "initKey">;
type StoredFacts = Omit<SandboxFacts, keyof SecretFacts> & (SecretFacts | { readonly sealed: string });

const factsPlace = (id: SandboxId) => `sandboxes/${id}`;
const metaPlace = (name: string) => `meta/${name}`;

/**
 * What is sealed in the store, and how it stands in its rows: seeds (all meta values that the server makes) and of each sandbox its
 * environment and init key. Without a sealer texts stay plain, which is for tests of the store alone.
 */
export class Secrets {
  private readonly sealer: Sealer | undefined;

  constructor(sealer: Sealer | undefined) {
    this.sealer = sealer;
  }

  sealMeta(name: string, value: string): string {
    return this.sealer?.seal(value, metaPlace(name)) ?? value;
  }

  openMeta(name: string, stored: string): string {
    return isSealed(stored) ? this.required().open(stored, metaPlace(name)) : stored;
  }

  /** The JSON that stands in the row. */
  sealFacts(id: SandboxId, facts: SandboxFacts): string {
    if (!this.sealer) return JSON.stringify(facts);
    const { envVars, initKey, ...rest } = facts;
    const secret: SecretFacts = { envVars, initKey };
    return JSON.stringify({ ...rest, sealed: this.sealer.seal(JSON.stringify(secret), factsPlace(id)) } satisfies StoredFacts);
  }

  openFacts(id: SandboxId, stored: string): SandboxFacts {
    const facts = JSON.parse(stored) as StoredFacts;
    if (!("sealed" in facts)) return facts;
    const { sealed, ...rest } = facts;
    return { ...rest, ...(JSON.parse(this.required().open(sealed, factsPlace(id))) as SecretFacts) };
  }

  /**
   * Makes sure that the store is this key's: seals what an earlier version has left plain, all of it or nothing. Says whether there was any:
   * the file may then still hold old pages. Throws `data_loss`, reason `store_key`.
   */
  async adopt(tx: SQL): Promise<boolean> {
    if (!this.sealer) return false;
    const [known] = (await tx`SELECT value FROM meta WHERE name = ${KEY_NAME}`) as Row[];
    if (known && text(known.value) !== this.sealer.keyId) throw wrongKey();
    if (known) return false;
    const metas = (await tx`SELECT name, value FROM meta WHERE name IN ('token-seed', 'upload-seed')`) as Row[];
    for (const row of metas) {
      const [name, value] = [text(row.name), text(row.value)];
      await tx`UPDATE meta SET value = ${this.sealMeta(name, this.openMeta(name, value))} WHERE name = ${name}`;
    }
    const sandboxes = await this.sealSandboxes(tx);
    await tx`INSERT INTO meta (name, value) VALUES (${KEY_NAME}, ${this.sealer.keyId})`;
    return metas.length + sandboxes > 0;
  }

  private async sealSandboxes(tx: SQL): Promise<number> {
    let sealed = 0;
    for (let last = ""; ; ) {
      const rows = (await tx`SELECT id, spec FROM sandboxes WHERE id > ${last} ORDER BY id LIMIT ${ROWS_AT_ONCE}`) as Row[];
      for (const row of rows) {
        const id = text(row.id) as SandboxId;
        await tx`UPDATE sandboxes SET spec = ${this.sealFacts(id, this.openFacts(id, text(row.spec)))} WHERE id = ${id}`;
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
