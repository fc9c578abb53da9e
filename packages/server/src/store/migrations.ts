import type { SQL } from "bun";
import { markLives } from "./life.ts";
import { adoptCheckpoints } from "./migrate-checkpoints.ts";

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly statements: readonly string[];
  /** Work that SQL alone cannot do in both databases, after the statements; once, in the same transaction. */
  readonly work?: (tx: SQL) => Promise<void>;
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
  {
    version: 2,
    name: "templates and builds",
    statements: [
      // A template may have no name; names are unique within a team.
      `CREATE TABLE templates_new (id TEXT PRIMARY KEY, team_id TEXT NOT NULL, name TEXT, public INTEGER NOT NULL, created_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL, spawn_count BIGINT NOT NULL DEFAULT 0, last_spawned_at BIGINT, UNIQUE (team_id, name))`,
      `INSERT INTO templates_new (id, team_id, name, public, created_at, updated_at)
        SELECT id, team_id, name, public, created_at, updated_at FROM templates`,
      "DROP TABLE templates",
      "ALTER TABLE templates_new RENAME TO templates",
      // Set-up has made all earlier templates: every team may use them.
      "UPDATE templates SET public = 1",
      // A build's spec is empty until sandboxes can start from the build; its tags are assigned then.
      "ALTER TABLE template_builds ADD COLUMN status TEXT NOT NULL DEFAULT 'ready'",
      "ALTER TABLE template_builds ADD COLUMN tags TEXT NOT NULL DEFAULT '[]'",
      "ALTER TABLE template_builds ADD COLUMN resources TEXT NOT NULL DEFAULT '{}'",
      "ALTER TABLE template_builds ADD COLUMN reason TEXT",
      "ALTER TABLE template_builds ADD COLUMN started_at BIGINT",
      "ALTER TABLE template_builds ADD COLUMN updated_at BIGINT",
      "ALTER TABLE template_builds ADD COLUMN finished_at BIGINT",
      "CREATE INDEX template_builds_by_template ON template_builds (template_id)",
      "CREATE INDEX template_builds_by_status ON template_builds (status)",
      `CREATE TABLE build_logs (build_id TEXT NOT NULL, place INTEGER NOT NULL, at BIGINT NOT NULL, level INTEGER NOT NULL, step TEXT,
        message TEXT NOT NULL, PRIMARY KEY (build_id, place))`,
      `CREATE TABLE build_cache (key TEXT PRIMARY KEY, result TEXT NOT NULL, used_at BIGINT NOT NULL)`,
    ],
  },
  {
    version: 3,
    name: "logs of sandboxes",
    statements: [
      `CREATE TABLE sandbox_logs (sandbox_id TEXT NOT NULL, at BIGINT NOT NULL, place BIGINT NOT NULL, level INTEGER NOT NULL,
        message TEXT NOT NULL, fields TEXT NOT NULL, PRIMARY KEY (sandbox_id, at, place))`,
    ],
  },
  {
    version: 4,
    name: "sandboxes of a node",
    statements: [
      // The data directory of a sandbox. `SqlStore.open` writes its own node into earlier rows.
      "ALTER TABLE sandboxes ADD COLUMN node TEXT NOT NULL DEFAULT ''",
      "CREATE INDEX sandboxes_by_node ON sandboxes (node, state)",
    ],
  },
  {
    version: 5,
    name: "what tags have pointed to",
    statements: [
      `CREATE TABLE tag_assignments (template_id TEXT NOT NULL, tag TEXT NOT NULL, build_id TEXT NOT NULL, assigned_at BIGINT NOT NULL,
        PRIMARY KEY (template_id, tag, assigned_at, build_id))`,
    ],
  },
  {
    version: 6,
    name: "dead sandboxes by their end",
    // The sweep looks for dead sandboxes every few seconds, and there may be a hundred thousand.
    statements: ["DROP INDEX sandboxes_by_state", "CREATE INDEX sandboxes_by_end ON sandboxes (state, ended_at)"],
  },
  {
    version: 7,
    name: "sealed secrets",
    // `Secrets.adopt` seals the rows, because that needs the key. This row keeps earlier versions out, which would read sealed texts as plain ones.
    statements: [],
  },
  {
    version: 8,
    name: "owners and settings of sandboxes",
    statements: [
      "ALTER TABLE sandboxes ADD COLUMN owner TEXT NOT NULL DEFAULT 'user'",
      "ALTER TABLE sandboxes ADD COLUMN owner_id TEXT",
      // Empty in earlier rows: their settings are among their facts, and `sandboxOf` reads them there.
      "ALTER TABLE sandboxes ADD COLUMN settings TEXT NOT NULL DEFAULT ''",
    ],
  },
  {
    version: 9,
    name: "events",
    statements: [
      `CREATE TABLE events (cursor BIGINT PRIMARY KEY, at BIGINT NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, target_id TEXT NOT NULL,
        team_id TEXT, old_values TEXT, new_values TEXT)`,
      // The cursor of the newest event. A row and no sequence of the database: a writer locks the row until its commit, so cursors have no gaps.
      "CREATE TABLE event_counter (last BIGINT NOT NULL)",
      "INSERT INTO event_counter (last) VALUES (0)",
      "CREATE TABLE event_readers (name TEXT PRIMARY KEY, cursor BIGINT NOT NULL)",
    ],
  },
  {
    version: 10,
    name: "volumes",
    statements: [
      `CREATE TABLE volumes (id TEXT PRIMARY KEY, team_id TEXT NOT NULL, node TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL,
        size_bytes BIGINT NOT NULL, created_at BIGINT NOT NULL, UNIQUE (team_id, name))`,
    ],
  },
  {
    version: 11,
    name: "checkpoints",
    statements: [
      `CREATE TABLE checkpoints (id TEXT PRIMARY KEY, team_id TEXT NOT NULL, node TEXT NOT NULL, sandbox_id TEXT, parent_id TEXT, sequence BIGINT NOT NULL,
        state TEXT NOT NULL, memory INTEGER NOT NULL, bytes BIGINT, reference TEXT NOT NULL, name TEXT, tag TEXT, reference_count BIGINT NOT NULL,
        created_at BIGINT NOT NULL)`,
      "CREATE INDEX checkpoints_by_sandbox ON checkpoints (sandbox_id, sequence)",
      "CREATE INDEX checkpoints_by_parent ON checkpoints (parent_id)",
      "CREATE INDEX checkpoints_by_reference ON checkpoints (reference)",
      // The sweep looks for these every few seconds.
      "CREATE INDEX checkpoints_unused ON checkpoints (node, created_at) WHERE reference_count = 0",
      // What needs a checkpoint; `reference_count` of the checkpoint is the number of these rows.
      `CREATE TABLE checkpoint_references (checkpoint_id TEXT NOT NULL, kind TEXT NOT NULL, holder TEXT NOT NULL,
        PRIMARY KEY (kind, holder, checkpoint_id))`,
      // The checkpoint that a build's sandboxes begin with. It has a reference of the build as long as a tag points to the build.
      "ALTER TABLE template_builds ADD COLUMN checkpoint_id TEXT",
      "CREATE INDEX template_tags_by_build ON template_tags (build_id)",
      // `template`, or `snapshot`: the versions are snapshots of sandboxes.
      "ALTER TABLE templates ADD COLUMN kind TEXT NOT NULL DEFAULT 'template'",
      // The checkpoint that the present state of a sandbox comes from: the parent of its next one.
      "ALTER TABLE sandboxes ADD COLUMN checkpoint_id TEXT",
      "CREATE INDEX sandboxes_by_checkpoint ON sandboxes (checkpoint_id) WHERE checkpoint_id IS NOT NULL",
    ],
    work: adoptCheckpoints,
  },
  {
    version: 12,
    name: "scopes of keys, access tokens, limits of teams",
    statements: [
      // Earlier keys could do everything.
      `ALTER TABLE api_keys ADD COLUMN scopes TEXT NOT NULL DEFAULT '["read","sandboxes","templates","admin"]'`,
      "ALTER TABLE api_keys ADD COLUMN kind TEXT NOT NULL DEFAULT 'key'",
      "ALTER TABLE api_keys ADD COLUMN parent_id TEXT",
      "ALTER TABLE api_keys ADD COLUMN expires_at BIGINT",
      "CREATE INDEX api_keys_by_team ON api_keys (team_id)",
      "CREATE INDEX api_keys_by_parent ON api_keys (parent_id)",
      "ALTER TABLE teams ADD COLUMN limits TEXT NOT NULL DEFAULT '{}'",
    ],
  },
  {
    version: 13,
    name: "operations",
    statements: [
      `CREATE TABLE operations (id TEXT PRIMARY KEY, team_id TEXT NOT NULL, node TEXT NOT NULL, kind TEXT NOT NULL, step TEXT NOT NULL, input TEXT NOT NULL,
        output TEXT, created_at BIGINT NOT NULL, finished_at BIGINT)`,
      "CREATE INDEX operations_unfinished ON operations (node) WHERE finished_at IS NULL",
      "CREATE INDEX operations_by_end ON operations (finished_at)",
    ],
  },
  {
    version: 14,
    name: "names of sandboxes",
    statements: [
      // Earlier sandboxes have none: what the command line called a name was metadata, which several sandboxes can share.
      "ALTER TABLE sandboxes ADD COLUMN name TEXT",
      // A sandbox that is being removed does not keep its name from the next one, however long that takes.
      `CREATE UNIQUE INDEX sandboxes_by_name ON sandboxes (team_id, name) WHERE name IS NOT NULL AND state NOT IN ('killing', 'dead')`,
    ],
  },
  {
    version: 15,
    name: "metrics and usage",
    statements: [
      // Points of a series, many in a row; the tier is their resolution (`store/points.ts`).
      `CREATE TABLE metric_chunks (series TEXT NOT NULL, tier INTEGER NOT NULL, start_at BIGINT NOT NULL, samples TEXT NOT NULL,
        PRIMARY KEY (series, start_at, tier))`,
      "CREATE INDEX metric_chunks_by_age ON metric_chunks (tier, start_at, series)",
      "CREATE TABLE metric_rounds (node TEXT PRIMARY KEY, at BIGINT NOT NULL)",
      // What a living sandbox has used, as the server measures it, and what an ended one has used. JSON.
      "ALTER TABLE sandboxes ADD COLUMN meter TEXT",
      "ALTER TABLE sandboxes ADD COLUMN usage TEXT",
      `CREATE TABLE usage_days (team_id TEXT NOT NULL, day BIGINT NOT NULL, sandboxes BIGINT NOT NULL, cpu_usec BIGINT NOT NULL,
        memory_mib_ms BIGINT NOT NULL, running_ms BIGINT NOT NULL, received_bytes BIGINT NOT NULL, sent_bytes BIGINT NOT NULL,
        PRIMARY KEY (team_id, day))`,
    ],
  },
  {
    version: 16,
    name: "events of a team, and of a target",
    statements: ["CREATE INDEX events_by_team ON events (team_id, cursor)", "CREATE INDEX events_by_target ON events (target_id, cursor)"],
  },
  {
    version: 17,
    name: "secrets of teams",
    statements: [
      // The value is sealed with the key of the data directory (`secret-rows.ts`).
      `CREATE TABLE secrets (id TEXT PRIMARY KEY, team_id TEXT NOT NULL, name TEXT NOT NULL, version BIGINT NOT NULL, value TEXT NOT NULL,
        metadata TEXT NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, UNIQUE (team_id, name))`,
    ],
  },
  {
    version: 18,
    name: "creates under an idempotency key are operations",
    statements: [
      // Keys that earlier versions have kept still lead to the sandboxes that were made under them.
      `INSERT INTO operations (id, team_id, node, kind, step, input, output, created_at, finished_at)
        SELECT s.id, s.team_id, s.node, 'createOnce', 'make', '{"id":"' || s.id || '"}', '{"id":"' || s.id || '"}', i.created_at, s.started_at
        FROM idempotency i JOIN sandboxes s ON s.id = i.sandbox_id
        WHERE s.started_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM operations o WHERE o.id = s.id)`,
    ],
  },
  {
    version: 19,
    name: "events of a team by action",
    statements: ["CREATE INDEX events_by_team_and_action ON events (team_id, action, cursor)"],
  },
  {
    version: 20,
    name: "retention, and settings of templates",
    statements: [
      "ALTER TABLE teams ADD COLUMN retention TEXT NOT NULL DEFAULT '{}'",
      // What holds for the sandboxes of a template, and for what was made of it. JSON.
      "ALTER TABLE templates ADD COLUMN settings TEXT NOT NULL DEFAULT '{}'",
      // Deletions by a rule that were announced, and when.
      "CREATE TABLE retention_notices (kind TEXT NOT NULL, id TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (kind, id))",
    ],
  },
  {
    version: 21,
    name: "webhooks, addresses of actors",
    statements: [
      "ALTER TABLE events ADD COLUMN address TEXT",
      // The secret is sealed with the key of the data directory (`webhook-rows.ts`).
      `CREATE TABLE webhooks (id TEXT PRIMARY KEY, team_id TEXT NOT NULL, name TEXT NOT NULL, url TEXT NOT NULL, events TEXT NOT NULL,
        enabled INTEGER NOT NULL, secret TEXT NOT NULL, created_at BIGINT NOT NULL)`,
      "CREATE INDEX webhooks_by_team ON webhooks (team_id)",
      `CREATE TABLE webhook_deliveries (id TEXT PRIMARY KEY, webhook_id TEXT NOT NULL, cursor BIGINT NOT NULL, type TEXT NOT NULL, body TEXT NOT NULL,
        state TEXT NOT NULL, attempts BIGINT NOT NULL, due_at BIGINT NOT NULL, created_at BIGINT NOT NULL, answer TEXT, UNIQUE (webhook_id, cursor))`,
      "CREATE INDEX webhook_deliveries_due ON webhook_deliveries (state, due_at)",
      "CREATE INDEX webhook_deliveries_of ON webhook_deliveries (webhook_id, state, cursor)",
    ],
  },
  {
    version: 22,
    name: "events of sandboxes' lives",
    statements: [
      // What an event is in the life of a user's sandbox whose record is there (`life.ts`).
      "ALTER TABLE events ADD COLUMN life TEXT",
      "CREATE INDEX events_by_life ON events (team_id, life, cursor) WHERE life IS NOT NULL",
    ],
    work: markLives,
  },
  {
    version: 23,
    name: "recordings of exchanges",
    statements: [
      `CREATE TABLE recordings (id TEXT PRIMARY KEY, team_id TEXT NOT NULL, node TEXT NOT NULL, name TEXT NOT NULL, incomplete TEXT,
        created_at BIGINT NOT NULL, UNIQUE (team_id, name))`,
    ],
  },
];
