import type { TemplateSpec } from "./records.ts";
import type { Transaction } from "./session.ts";
import { type Row, text } from "./sql-values.ts";

/**
 * Prefix of the key of a build among the cached results of steps. A build that no tag points to is kept like those: within the same bound, and for
 * the same time after its last use.
 */
export const UNTAGGED = "build:";

/**
 * Adds builds that have lost their last tag to the cached results. `untagged`: rows of removed tags. The spec has the layers, like a step's result. A
 * snapshot is not kept: it ends with its tags, because it is more than layers.
 */
export async function keepUntagged(tx: Transaction, untagged: readonly Row[], now: number): Promise<void> {
  const ids = [...new Set(untagged.map((row) => text(row.build_id)))];
  if (ids.length === 0) return;
  const builds = (await tx.sql`SELECT b.id, b.spec FROM template_builds b WHERE b.id IN ${tx.sql(ids)} AND b.spec <> ''
    AND NOT EXISTS (SELECT 1 FROM template_tags g WHERE g.build_id = b.id)`) as Row[];
  const kept = builds.filter((row) => (JSON.parse(text(row.spec)) as TemplateSpec).snapshot === undefined);
  if (kept.length === 0) return;
  const rows = kept.map((row) => ({ key: UNTAGGED + text(row.id), result: text(row.spec), used_at: now }));
  await tx.sql`INSERT INTO build_cache ${tx.sql(rows)} ON CONFLICT (key) DO UPDATE SET used_at = excluded.used_at`;
}
