import { AppError, type TeamId } from "@boxyard/core";
import type { Secrets } from "./secrets.ts";
import type { Session, Transaction } from "./session.ts";
import { num, type Row, text } from "./sql-values.ts";

/** A secret of a team, without its value. */
export interface SecretRecord {
  readonly id: string;
  readonly teamId: TeamId;
  /** One secret of a team has it. */
  readonly name: string;
  /** Grows by one with each new value. */
  readonly version: number;
  readonly metadata: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export type NewSecretRecord = Pick<SecretRecord, "id" | "teamId" | "name" | "metadata" | "createdAt"> & { readonly value: string };

/** A value may be read only as what a secret is in its own row: moved to another row it does not open. */
const placeOf = (id: string) => `secrets/${id}`;

/** The secrets of all teams. Their values are sealed, and no record has one: `value` reads it by itself. */
export class SecretRows {
  private readonly session: Session;
  private readonly sealing: Secrets;

  constructor(session: Session, sealing: Secrets) {
    this.session = session;
    this.sealing = sealing;
  }

  /** Adds the first version. Adds nothing, and says why, when the team has a secret of this name, or has `most` secrets. */
  async add(secret: NewSecretRecord, most: number): Promise<"added" | "name_taken" | "too_many"> {
    const { id, teamId, name, metadata, createdAt, value } = secret;
    const values = {
      ...{ id, team_id: teamId as string, name, version: 1, value: this.sealing.seal(value, placeOf(id)) },
      ...{ metadata: JSON.stringify(metadata), created_at: createdAt, updated_at: createdAt },
    };
    return this.session.transaction(async (tx) => {
      if ((await rowOf(tx, teamId, name)) !== undefined) return "name_taken";
      const [row] = (await tx.sql`SELECT COUNT(*) AS number FROM secrets WHERE team_id = ${teamId}`) as Row[];
      if (num(row?.number) >= most) return "too_many";
      const added = await tx.sql`INSERT INTO secrets ${tx.sql(values)} ON CONFLICT (team_id, name) DO NOTHING RETURNING id`;
      if (added.length === 0) return "name_taken";
      tx.record({ action: "secret.created", targetId: id, teamId, after: { name, version: 1 } });
      return "added";
    });
  }

  /** The secrets of a team, oldest first. */
  async list(teamId: TeamId): Promise<SecretRecord[]> {
    const rows = (await this.session.sql`SELECT id, team_id, name, version, metadata, created_at, updated_at FROM secrets
      WHERE team_id = ${teamId} ORDER BY created_at, id`) as Row[];
    return rows.map(secretOf);
  }

  /** The secret of a team with this id or name. */
  async find(teamId: TeamId, key: string): Promise<SecretRecord | undefined> {
    const row = await rowOf(this.session, teamId, key);
    return row && secretOf(row);
  }

  /**
   * The value of the secret of a team with this id or name; undefined if there is none. Throws `failed_precondition`, reason `secret_sealed`, for one
   * that another data directory has sealed.
   */
  async value(teamId: TeamId, key: string): Promise<string | undefined> {
    const row = await rowOf(this.session, teamId, key);
    if (!row) return undefined;
    const value = this.sealing.unseal(text(row.value), placeOf(text(row.id)));
    if (value !== undefined) return value;
    throw new AppError("failed_precondition", `Secret '${text(row.name)}' was stored by another data directory: give it its value again`, {
      reason: "secret_sealed",
    });
  }

  /** Gives a secret its next version; without `metadata` it keeps what it has. Undefined if there is none. */
  async change(
    teamId: TeamId,
    key: string,
    { value, metadata, at }: { readonly value: string; readonly metadata: SecretRecord["metadata"] | undefined; readonly at: number },
  ): Promise<SecretRecord | undefined> {
    return this.session.transaction(async (tx) => {
      const found = await rowOf(tx, teamId, key);
      if (!found) return undefined;
      const id = text(found.id);
      const kept = metadata === undefined ? text(found.metadata) : JSON.stringify(metadata);
      const [row] = (await tx.sql`UPDATE secrets SET version = version + 1, value = ${this.sealing.seal(value, placeOf(id))},
        metadata = ${kept}, updated_at = ${at} WHERE id = ${id} RETURNING *`) as Row[];
      if (!row) return undefined;
      const secret = secretOf(row);
      const versions = { before: { version: secret.version - 1 }, after: { name: secret.name, version: secret.version } };
      tx.record({ action: "secret.changed", targetId: id, teamId, ...versions });
      return secret;
    });
  }

  /** Returns whether there was one. */
  async remove(teamId: TeamId, key: string): Promise<boolean> {
    return this.session.transaction(async (tx) => {
      const found = await rowOf(tx, teamId, key);
      if (!found) return false;
      const [row] = (await tx.sql`DELETE FROM secrets WHERE id = ${text(found.id)} RETURNING id, name, version`) as Row[];
      if (!row) return false;
      const before = { name: text(row.name), version: num(row.version) };
      tx.record({ action: "secret.removed", targetId: text(row.id), teamId, before });
      return true;
    });
  }
}

/** No secret has a name of the form of an id, so `key` means one secret at most. */
async function rowOf({ sql }: Session | Transaction, teamId: TeamId, key: string): Promise<Row | undefined> {
  const [row] = (await sql`SELECT * FROM secrets WHERE team_id = ${teamId} AND (id = ${key} OR name = ${key})`) as Row[];
  return row;
}

function secretOf(row: Row): SecretRecord {
  return {
    id: text(row.id),
    teamId: text(row.team_id) as TeamId,
    name: text(row.name),
    version: num(row.version),
    metadata: JSON.parse(text(row.metadata)) as SecretRecord["metadata"],
    createdAt: num(row.created_at),
    updatedAt: num(row.updated_at),
  };
}
