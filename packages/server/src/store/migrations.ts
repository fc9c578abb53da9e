export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly statements: readonly string[];
}

/**
 * The schema, as an ordered list that only grows. Statements are plain SQL that SQLite and PostgreSQL both take: times are milliseconds in
 * BIGINT, truth values are 0 and 1, structures are JSON in TEXT.
 */
export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: "first light",
    statements: [
      "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
      "CREATE TABLE teams (id TEXT PRIMARY KEY, slug TEXT NOT NULL UNIQUE, name TEXT NOT NULL, created_at BIGINT NOT NULL)",
      `CREATE TABLE api_keys (id TEXT PRIMARY KEY, team_id TEXT NOT NULL, name TEXT NOT NULL, hash TEXT NOT NULL UNIQUE,
        hint TEXT NOT NULL, created_at BIGINT NOT NULL, last_used_at BIGINT)`,
      `CREATE TABLE templates (id TEXT PRIMARY KEY, team_id TEXT NOT NULL, name TEXT NOT NULL UNIQUE, public INTEGER NOT NULL,
        created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL)`,
      `CREATE TABLE template_builds (id TEXT PRIMARY KEY, template_id TEXT NOT NULL, spec TEXT NOT NULL, created_at BIGINT NOT NULL)`,
      `CREATE TABLE template_tags (template_id TEXT NOT NULL, tag TEXT NOT NULL, build_id TEXT NOT NULL, created_at BIGINT NOT NULL,
        PRIMARY KEY (template_id, tag))`,
      `CREATE TABLE sandboxes (id TEXT PRIMARY KEY, team_id TEXT NOT NULL, template_id TEXT NOT NULL, state TEXT NOT NULL,
        reason TEXT, incarnation INTEGER NOT NULL, created_at BIGINT NOT NULL, started_at BIGINT, end_at BIGINT NOT NULL,
        ended_at BIGINT, spec TEXT NOT NULL)`,
      "CREATE INDEX sandboxes_by_state ON sandboxes (state)",
      `CREATE TABLE idempotency (team_id TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, sandbox_id TEXT NOT NULL,
        created_at BIGINT NOT NULL, PRIMARY KEY (team_id, key))`,
      "CREATE INDEX idempotency_by_age ON idempotency (created_at)",
    ],
  },
];
