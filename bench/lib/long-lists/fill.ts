import { SQL } from "bun";

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
/** Resolution of points, the time of one chunk, and from which age to which there are any: as the server thins them (`store/points.ts`). */
const TIERS = [
  { step: 5 * SECOND, chunk: 10 * MINUTE, from: HOUR, to: 0 },
  { step: MINUTE, chunk: 2 * HOUR, from: DAY, to: HOUR },
  { step: 10 * MINUTE, chunk: DAY, from: 30 * DAY, to: DAY },
] as const;
/** Values of a point of a sandbox, and of a team. */
const [OF_SANDBOX, OF_TEAM] = [6, 2];
/** Events of each sandbox that has ended: made, running, changed, killing, dead. */
const EVENTS_OF_ONE = 5;
/** Of so many ended sandboxes one has a record still. */
const ONE_KEPT_OF = 5;
const BUILD_PREFIX = "00000000-0000-4000-8000-";
/** A build with a long log. */
export const FIRST_BUILD = `${BUILD_PREFIX}000000000000`;
/** Pages that SQLite keeps in memory, in KiB: the filler writes all over the indexes. */
const CACHE_KIB = 512 * 1024;

export interface Wanted {
  readonly teamId: string;
  readonly sandboxId: string;
  readonly templateId: string;
  readonly webhookId: string;
  readonly events: number;
}

/** Where the store is: the address of a PostgreSQL database, or SQLite's file. */
export type Place = { readonly url: string } | { readonly file: string };

/** Puts much into a store whose server does not run. The statements are those that both databases take. */
export async function fillStore(place: Place, wanted: Wanted): Promise<void> {
  const sql = "url" in place ? new SQL(place.url, { max: 1 }) : new SQL({ adapter: "sqlite", filename: place.file });
  try {
    if ("file" in place) {
      // A crash may lose all of it.
      for (const pragma of [`cache_size = -${CACHE_KIB}`, "synchronous = OFF", "temp_store = MEMORY"]) await sql.unsafe(`PRAGMA ${pragma}`);
    }
    await sql.begin(async (tx) => {
      await fillEvents(tx, wanted);
      await fillMetrics(tx, wanted.teamId);
      await fillOthers(tx, wanted);
    });
    // A server of PostgreSQL does this by itself, some minutes later.
    if ("url" in place) await sql.unsafe("VACUUM ANALYZE");
  } finally {
    await sql.close();
  }
}

/**
 * Events of sandboxes that have ended, one in a hundred of a template, one in a thousand of another team. The newest fifth of the sandboxes have records, so
 * the store knows their lives.
 */
async function fillEvents(sql: SQL, { teamId, sandboxId, events }: Wanted): Promise<void> {
  const [{ last }] = (await sql`SELECT last FROM event_counter`) as [{ last: number }];
  const ended = Math.ceil(events / EVENTS_OF_ONE);
  const kept = Math.floor(ended - ended / ONE_KEPT_OF);
  const begin = Date.now() - HOUR;
  await sql`INSERT INTO events (cursor, at, actor, action, target_id, team_id, old_values, new_values, life)
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${events - 1})
    SELECT CAST(${last} AS BIGINT) + 1 + i, CAST(${begin} AS BIGINT) + i, 'key:bench',
      CASE WHEN i % 100 = 98 THEN 'template.changed' WHEN i % 5 = 0 THEN 'sandbox.creating' WHEN i % 5 = 1 THEN 'sandbox.running'
        WHEN i % 5 = 2 THEN 'sandbox.changed' WHEN i % 5 = 3 THEN 'sandbox.killing' ELSE 'sandbox.dead' END,
      'ended' || (i / 5), CASE WHEN i % 1000 = 500 THEN 'bench-other' ELSE ${teamId} END,
      '{"state":"running"}', '{"state":"killing","reason":"requested"}',
      CASE WHEN i / 5 < ${kept} OR i % 100 = 98 THEN NULL WHEN i % 5 = 1 THEN 'sandbox.lifecycle.created'
        WHEN i % 5 = 2 THEN 'sandbox.lifecycle.updated' WHEN i % 5 = 4 THEN 'sandbox.lifecycle.killed' ELSE NULL END FROM n`;
  await sql`UPDATE event_counter SET last = last + ${events}`;
  const facts = await openFactsOf(sql, sandboxId);
  await sql`INSERT INTO sandboxes (id, team_id, template_id, state, reason, incarnation, created_at, started_at, end_at, ended_at, spec, settings, node)
    WITH RECURSIVE n(i) AS (SELECT ${kept} UNION ALL SELECT i + 1 FROM n WHERE i < ${ended - 1})
    SELECT 'ended' || n.i, team_id, template_id, 'dead', 'requested', 1, created_at, started_at, end_at, CAST(${Date.now()} AS BIGINT), ${facts}, settings, node
    FROM n CROSS JOIN (SELECT * FROM sandboxes WHERE id = ${sandboxId}) AS one`;
}

/** A sandbox's facts without its secrets, which are sealed for that sandbox alone. */
async function openFactsOf(sql: SQL, sandboxId: string): Promise<string> {
  const [{ spec }] = (await sql`SELECT spec FROM sandboxes WHERE id = ${sandboxId}`) as [{ spec: string }];
  const { sealed: _, ...facts } = JSON.parse(spec) as Record<string, unknown>;
  return JSON.stringify({ ...facts, envVars: {}, initKey: "" });
}

/** A month of points of each sandbox that runs, and of the team, in all resolutions. */
async function fillMetrics(sql: SQL, teamId: string): Promise<void> {
  const now = Date.now();
  for (const [tier, { step, chunk, from, to }] of TIERS.entries()) {
    for (let start = now - from; start + chunk <= now - to; start += chunk) {
      const samples = samplesFrom(start, step, chunk / step, OF_SANDBOX);
      await sql`INSERT INTO metric_chunks (series, tier, start_at, samples)
        SELECT id, ${tier}, ${start}, ${samples} FROM sandboxes WHERE state = 'running' ON CONFLICT (series, start_at, tier) DO NOTHING`;
      const row = { series: `team:${teamId}`, tier, start_at: start, samples: samplesFrom(start, step, chunk / step, OF_TEAM) };
      await sql`INSERT INTO metric_chunks ${sql(row)} ON CONFLICT (series, start_at, tier) DO NOTHING`;
    }
  }
}

/** A chunk in the store's form: a column for each number of a point, each number as its difference to the one before. */
function samplesFrom(start: number, step: number, count: number, values: number): string {
  const column = (first: number, next: (i: number) => number) => Array.from({ length: count }, (_, i) => (i === 0 ? first : next(i)));
  const changing = () => column(200_000_000, (i) => ((i * 7919) % 20_011) - 10_005);
  const columns = [
    column(start + step, () => step),
    column(step, () => 0),
    column(0, () => 0),
    ...Array.from({ length: values }, changing),
  ];
  return JSON.stringify(columns);
}

/** As much as the server keeps of what other lists show: lines of a sandbox's log and of a build's, deliveries; and a year of usage, builds of a template. */
async function fillOthers(sql: SQL, { teamId, sandboxId, templateId, webhookId }: Wanted): Promise<void> {
  const now = Date.now();
  await sql`INSERT INTO sandbox_logs (sandbox_id, at, place, level, message, fields)
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1999)
    SELECT ${sandboxId}, CAST(${now - HOUR} AS BIGINT) + i * 1000, i, 1, 'A command has begun, and this is line ' || i, '{"logger":"boxyard"}' FROM n
    WHERE true ON CONFLICT (sandbox_id, at, place) DO NOTHING`;
  await sql`INSERT INTO webhook_deliveries (id, webhook_id, cursor, type, body, state, attempts, due_at, created_at, answer)
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
    SELECT 'bench' || i, ${webhookId}, i + 1, 'sandbox.lifecycle.created', '{}', 'dead', 8, 0, CAST(${now} AS BIGINT), 'the address answered 500' FROM n`;
  await sql`INSERT INTO template_builds (id, template_id, spec, created_at, status, tags, resources, finished_at, updated_at)
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199)
    SELECT ${BUILD_PREFIX} || SUBSTR(CAST(1000000000000 + n.i AS TEXT), 2), template_id, spec, created_at - n.i, status, tags, resources, finished_at, updated_at
    FROM n CROSS JOIN (SELECT * FROM template_builds WHERE template_id = ${templateId} LIMIT 1) AS one`;
  await sql`INSERT INTO build_logs (build_id, place, at, level, step, message)
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
    SELECT ${FIRST_BUILD}, i, CAST(${now} AS BIGINT), 1, 'base', 'line ' || i || ' of a build that says much' FROM n`;
  await sql`INSERT INTO usage_days (team_id, day, sandboxes, cpu_usec, memory_mib_ms, running_ms, received_bytes, sent_bytes)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 399)
    SELECT ${teamId}, CAST(${Math.floor(now / DAY) * DAY} AS BIGINT) - i * CAST(${DAY} AS BIGINT), 100, 1000000, 1000000, 1000000, 1000, 1000 FROM n`;
}
