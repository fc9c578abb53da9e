import { AppError, newTeamId, type SandboxId, type SandboxState, type TeamId, type TemplateId } from "@boxyard/core";
import { SQL } from "bun";
import { MIGRATIONS } from "./migrations.ts";
import type { ApiKeyRecord, EndCause, IdempotencyRecord, SandboxRecord } from "./records.ts";
import { SqlSandboxLogStore } from "./sql-sandbox-log-store.ts";
import { SqlTemplateStore } from "./sql-template-store.ts";
import { num, optionalNum, type Row, text } from "./sql-values.ts";
import type { SandboxChange, Store } from "./store.ts";

const COLUMNS: Readonly<Record<keyof SandboxChange, string>> = {
  state: "state",
  reason: "reason",
  startedAt: "started_at",
  endAt: "end_at",
  endedAt: "ended_at",
  incarnation: "incarnation",
};

/** The store on SQL: SQLite in a file, or PostgreSQL by its address; the same statements for both. */
export class SqlStore implements Store {
  readonly templates: SqlTemplateStore;
  readonly sandboxLogs: SqlSandboxLogStore;
  private readonly sql: SQL;

  private constructor(sql: SQL) {
    this.sql = sql;
    this.templates = new SqlTemplateStore(sql);
    this.sandboxLogs = new SqlSandboxLogStore(sql);
  }

  /** Opens the store and brings its schema up to date. Refuses one that a newer version of the server has written. */
  static async open(where: { file: string } | { url: string }): Promise<SqlStore> {
    const sql = "url" in where ? new SQL(where.url) : new SQL({ adapter: "sqlite", filename: where.file });
    if ("file" in where) {
      await sql.unsafe("PRAGMA journal_mode = WAL");
      await sql.unsafe("PRAGMA synchronous = NORMAL");
      await sql.unsafe("PRAGMA busy_timeout = 5000");
    }
    await migrate(sql);
    return new SqlStore(sql);
  }

  async getOrCreateMeta(name: string, make: () => string): Promise<string> {
    const read = async () => (await this.sql`SELECT value FROM meta WHERE name = ${name}`)[0]?.value as string | undefined;
    const found = await read();
    if (found !== undefined) return found;
    await this.sql`INSERT INTO meta (name, value) VALUES (${name}, ${make()}) ON CONFLICT (name) DO NOTHING`;
    return text(await read());
  }

  async ensureTeam(slug: string, name: string): Promise<TeamId> {
    const values = { id: newTeamId() as string, slug, name, created_at: Date.now() };
    await this.sql`INSERT INTO teams ${this.sql(values)} ON CONFLICT (slug) DO NOTHING`;
    return text((await this.sql`SELECT id FROM teams WHERE slug = ${slug}`)[0].id) as TeamId;
  }

  async teamSlug(id: TeamId): Promise<string | undefined> {
    const [row] = await this.sql`SELECT slug FROM teams WHERE id = ${id}`;
    return row ? text(row.slug) : undefined;
  }

  async addKey(key: ApiKeyRecord): Promise<void> {
    const values = { id: key.id, team_id: key.teamId as string, name: key.name, hash: key.hash, hint: key.hint, created_at: key.createdAt };
    await this.sql`INSERT INTO api_keys ${this.sql(values)} ON CONFLICT (hash) DO NOTHING`;
  }

  async findKey(hash: string): Promise<ApiKeyRecord | undefined> {
    const [row] = await this.sql`SELECT * FROM api_keys WHERE hash = ${hash}`;
    return row ? keyOf(row) : undefined;
  }

  async listKeys(): Promise<ApiKeyRecord[]> {
    return ((await this.sql`SELECT * FROM api_keys ORDER BY created_at`) as Row[]).map(keyOf);
  }

  async removeKey(teamId: TeamId, id: string): Promise<boolean> {
    const rows = await this.sql`DELETE FROM api_keys WHERE team_id = ${teamId} AND id = ${id}
      AND EXISTS (SELECT 1 FROM api_keys other WHERE other.team_id = ${teamId} AND other.id <> ${id}) RETURNING id`;
    return rows.length === 1;
  }

  async touchKey(id: string, usedAt: number): Promise<void> {
    await this.sql`UPDATE api_keys SET last_used_at = ${usedAt} WHERE id = ${id}`;
  }

  async insertSandbox(record: SandboxRecord): Promise<void> {
    const values = {
      id: record.id as string,
      team_id: record.teamId as string,
      template_id: record.templateId as string,
      state: record.state,
      reason: record.reason ?? null,
      incarnation: record.incarnation,
      created_at: record.createdAt,
      started_at: record.startedAt ?? null,
      end_at: record.endAt,
      ended_at: record.endedAt ?? null,
      spec: JSON.stringify(record.facts),
    };
    await this.sql`INSERT INTO sandboxes ${this.sql(values)}`;
  }

  async getSandbox(id: SandboxId): Promise<SandboxRecord | undefined> {
    const [row] = await this.sql`SELECT * FROM sandboxes WHERE id = ${id}`;
    return row ? sandboxOf(row) : undefined;
  }

  async listLiving(): Promise<SandboxRecord[]> {
    return ((await this.sql`SELECT * FROM sandboxes WHERE state <> 'dead' ORDER BY created_at`) as Row[]).map(sandboxOf);
  }

  async updateSandbox(id: SandboxId, from: readonly SandboxState[], change: SandboxChange): Promise<boolean> {
    const values: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(change)) values[COLUMNS[name as keyof SandboxChange]] = value;
    const rows = await this.sql`UPDATE sandboxes SET ${this.sql(values)} WHERE id = ${id} AND state IN ${this.sql([...from])} RETURNING id`;
    return rows.length === 1;
  }

  async pruneSandboxes(time: number): Promise<void> {
    await this.sql`DELETE FROM sandbox_logs WHERE sandbox_id IN (SELECT id FROM sandboxes WHERE state = 'dead' AND ended_at < ${time})`;
    await this.sql`DELETE FROM sandboxes WHERE state = 'dead' AND ended_at < ${time}`;
  }

  async claimKey(record: IdempotencyRecord): Promise<IdempotencyRecord | undefined> {
    const { teamId, key } = record;
    const values = {
      team_id: teamId as string,
      key,
      fingerprint: record.fingerprint,
      sandbox_id: record.sandboxId as string,
      created_at: record.createdAt,
    };
    const won = await this.sql`INSERT INTO idempotency ${this.sql(values)} ON CONFLICT (team_id, key) DO NOTHING RETURNING key`;
    if (won.length === 1) return undefined;
    const [row] = await this.sql`SELECT * FROM idempotency WHERE team_id = ${teamId} AND key = ${key}`;
    // Dropped between the two statements: the caller may claim again.
    return row ? idempotencyOf(row) : this.claimKey(record);
  }

  async dropKey(teamId: TeamId, key: string, sandboxId: SandboxId): Promise<void> {
    await this.sql`DELETE FROM idempotency WHERE team_id = ${teamId} AND key = ${key} AND sandbox_id = ${sandboxId}`;
  }

  async pruneKeys(time: number): Promise<void> {
    await this.sql`DELETE FROM idempotency WHERE created_at < ${time}`;
  }

  async close(): Promise<void> {
    await this.sql.close();
  }
}

async function migrate(sql: SQL): Promise<void> {
  await sql.unsafe("CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)");
  const rows = (await sql`SELECT version FROM migrations`) as Row[];
  const done = new Set(rows.map((row) => num(row.version)));
  const newest = MIGRATIONS.at(-1)?.version ?? 0;
  const unknown = [...done].find((version) => version > newest);
  if (unknown !== undefined) {
    throw new AppError(
      "failed_precondition",
      `The store was written by a newer version of Boxyard (schema ${unknown}, this one knows ${newest})`,
      {
        reason: "store_too_new",
      },
    );
  }
  for (const migration of MIGRATIONS) {
    if (done.has(migration.version)) continue;
    await sql.begin(async (tx) => {
      for (const statement of migration.statements) await tx.unsafe(statement);
      await tx`INSERT INTO migrations ${tx({ version: migration.version, name: migration.name, applied_at: Date.now() })}`;
    });
  }
}

function keyOf(row: Row): ApiKeyRecord {
  const lastUsedAt = optionalNum(row.last_used_at);
  return {
    id: text(row.id),
    teamId: text(row.team_id) as TeamId,
    name: text(row.name),
    hash: text(row.hash),
    hint: text(row.hint),
    createdAt: num(row.created_at),
    ...(lastUsedAt === undefined ? {} : { lastUsedAt }),
  };
}

function sandboxOf(row: Row): SandboxRecord {
  const startedAt = optionalNum(row.started_at);
  const endedAt = optionalNum(row.ended_at);
  return {
    id: text(row.id) as SandboxId,
    teamId: text(row.team_id) as TeamId,
    templateId: text(row.template_id) as TemplateId,
    state: text(row.state) as SandboxState,
    ...(row.reason === null ? {} : { reason: text(row.reason) as EndCause }),
    incarnation: num(row.incarnation),
    createdAt: num(row.created_at),
    ...(startedAt === undefined ? {} : { startedAt }),
    endAt: num(row.end_at),
    ...(endedAt === undefined ? {} : { endedAt }),
    facts: JSON.parse(text(row.spec)),
  };
}

function idempotencyOf(row: Row): IdempotencyRecord {
  return {
    teamId: text(row.team_id) as TeamId,
    key: text(row.key),
    fingerprint: text(row.fingerprint),
    sandboxId: text(row.sandbox_id) as SandboxId,
    createdAt: num(row.created_at),
  };
}
