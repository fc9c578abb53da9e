import type { TeamId } from "@boxyard/core";
import type { Scope } from "@boxyard/spec/platform";
import type { ApiKeyRecord } from "./records.ts";
import type { Session } from "./session.ts";
import { num, optionalNum, type Row, text } from "./sql-values.ts";

/** API keys and access tokens of all teams, as hashes. */
export class KeyRows {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /** Adds a key. Does nothing if the hash exists already. */
  async add(key: ApiKeyRecord): Promise<void> {
    const { id, teamId, name, kind, hint, scopes } = key;
    const values = {
      ...{ id, team_id: teamId as string, name, kind, parent_id: key.parentId ?? null, scopes: JSON.stringify(scopes) },
      ...{ hash: key.hash, hint, created_at: key.createdAt, expires_at: key.expiresAt ?? null },
    };
    await this.session.transaction(async (tx) => {
      const added = await tx.sql`INSERT INTO api_keys ${tx.sql(values)} ON CONFLICT (hash) DO NOTHING RETURNING id`;
      if (added.length === 1) tx.record({ action: "key.created", targetId: id, teamId, after: { name, hint, kind, scopes } });
    });
  }

  async find(hash: string): Promise<ApiKeyRecord | undefined> {
    const [row] = (await this.session.sql`SELECT * FROM api_keys WHERE hash = ${hash}`) as Row[];
    return row && keyOf(row);
  }

  /** The keys and tokens of a team, oldest first; of all teams without one. */
  async list(teamId?: TeamId): Promise<ApiKeyRecord[]> {
    const { sql } = this.session;
    const rows = await (teamId === undefined
      ? sql`SELECT * FROM api_keys ORDER BY created_at, id`
      : sql`SELECT * FROM api_keys WHERE team_id = ${teamId} ORDER BY created_at, id`);
    return (rows as Row[]).map(keyOf);
  }

  /** The key that was made for the holder of another key or token, in a team. */
  async childOf(parentId: string, teamId: TeamId): Promise<ApiKeyRecord | undefined> {
    const [row] = (await this.session
      .sql`SELECT * FROM api_keys WHERE parent_id = ${parentId} AND team_id = ${teamId} AND kind = 'key'`) as Row[];
    return row && keyOf(row);
  }

  /** Gives a key of a team another name; undefined if there is none. */
  async rename(teamId: TeamId, id: string, name: string): Promise<ApiKeyRecord | undefined> {
    return this.session.transaction(async (tx) => {
      const [row] = (await tx.sql`UPDATE api_keys SET name = ${name} WHERE team_id = ${teamId} AND id = ${id} AND kind = 'key'
        RETURNING *`) as Row[];
      if (row) tx.record({ action: "key.renamed", targetId: id, teamId, after: { name } });
      return row && keyOf(row);
    });
  }

  /** Removes a key or token of a team, and what its holder had made by it. Returns the ids of all of them; none if there is no such key. */
  async remove(teamId: TeamId, id: string): Promise<string[]> {
    return this.session.transaction(async (tx) => {
      const rows = (await tx.sql`WITH RECURSIVE gone(id) AS (
          SELECT id FROM api_keys WHERE team_id = ${teamId} AND id = ${id}
          UNION SELECT child.id FROM api_keys child JOIN gone ON child.parent_id = gone.id
        ) DELETE FROM api_keys WHERE id IN (SELECT id FROM gone) RETURNING id, team_id, name, hint`) as Row[];
      for (const row of rows) {
        const before = { name: text(row.name), hint: text(row.hint) };
        tx.record({ action: "key.revoked", targetId: text(row.id), teamId: text(row.team_id) as TeamId, before });
      }
      return rows.map((row) => text(row.id));
    });
  }

  /** Writes the time of the key's last use, in milliseconds since 1970. */
  async touch(id: string, usedAt: number): Promise<void> {
    await this.session.sql`UPDATE api_keys SET last_used_at = ${usedAt} WHERE id = ${id}`;
  }
}

function keyOf(row: Row): ApiKeyRecord {
  const [expiresAt, lastUsedAt] = [optionalNum(row.expires_at), optionalNum(row.last_used_at)];
  return {
    id: text(row.id),
    teamId: text(row.team_id) as TeamId,
    name: text(row.name),
    kind: text(row.kind) as ApiKeyRecord["kind"],
    ...(row.parent_id === null ? {} : { parentId: text(row.parent_id) }),
    scopes: JSON.parse(text(row.scopes)) as Scope[],
    hash: text(row.hash),
    hint: text(row.hint),
    createdAt: num(row.created_at),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(lastUsedAt === undefined ? {} : { lastUsedAt }),
  };
}
