import type { Transaction } from "./session.ts";
import { type Row, text } from "./sql-values.ts";

/**
 * What needs a checkpoint: a build with a tag, whose sandboxes begin with it, or an operation in progress. References change in the transactions that
 * make or end the need, so a checkpoint without one is needed by nothing that the store knows.
 */
export interface CheckpointHolder {
  readonly kind: "build" | "operation";
  readonly id: string;
}

/** Adds a reference. Repeatable. Returns false when there is no such checkpoint, or when it is being removed. */
export async function addReference({ sql }: Transaction, checkpointId: string, { kind, id }: CheckpointHolder): Promise<boolean> {
  const row = { checkpoint_id: checkpointId, kind, holder: id };
  const added = (await sql`INSERT INTO checkpoint_references ${sql(row)} ON CONFLICT DO NOTHING RETURNING holder`) as Row[];
  if (added.length === 0) return true;
  const counted = (await sql`UPDATE checkpoints SET reference_count = reference_count + 1 WHERE id = ${checkpointId} AND state <> 'removing'
    RETURNING id`) as Row[];
  if (counted.length === 1) return true;
  await sql`DELETE FROM checkpoint_references WHERE checkpoint_id = ${checkpointId} AND kind = ${kind} AND holder = ${id}`;
  return false;
}

/** Removes the references of holders of one kind. Repeatable. */
export async function dropReferences({ sql }: Transaction, kind: CheckpointHolder["kind"], ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const rows = (await sql`DELETE FROM checkpoint_references WHERE kind = ${kind} AND holder IN ${sql([...ids])}
    RETURNING checkpoint_id`) as Row[];
  for (const [id, dropped] of Map.groupBy(rows, (row) => text(row.checkpoint_id)))
    await sql`UPDATE checkpoints SET reference_count = reference_count - ${dropped.length} WHERE id = ${id}`;
}

/** Adds the reference of a build that has a tag now. Returns false for a checkpoint that is gone; true also for a build without one. */
export async function referToBuild(tx: Transaction, buildId: string): Promise<boolean> {
  const [row] = (await tx.sql`SELECT checkpoint_id FROM template_builds WHERE id = ${buildId}`) as Row[];
  if (!row || row.checkpoint_id === null) return true;
  return addReference(tx, text(row.checkpoint_id), { kind: "build", id: buildId });
}

/** Removes the references of those builds to which no tag points any more. `untagged`: rows of tags that were removed or moved. */
export async function releaseUntagged(tx: Transaction, untagged: readonly Row[]): Promise<void> {
  const ids = [...new Set(untagged.map((row) => text(row.build_id)))];
  if (ids.length === 0) return;
  const tagged = (await tx.sql`SELECT DISTINCT build_id FROM template_tags WHERE build_id IN ${tx.sql(ids)}`) as Row[];
  const kept = new Set(tagged.map((row) => text(row.build_id)));
  await dropReferences(
    tx,
    "build",
    ids.filter((id) => !kept.has(id)),
  );
}

/** Removes the references of all builds of a template. To be called before the builds are removed. */
export async function releaseTemplate(tx: Transaction, templateId: string): Promise<void> {
  const rows = (await tx.sql`SELECT id FROM template_builds WHERE template_id = ${templateId} AND checkpoint_id IS NOT NULL`) as Row[];
  // A statement takes a limited number of values.
  for (let at = 0; at < rows.length; at += 500)
    await dropReferences(
      tx,
      "build",
      rows.slice(at, at + 500).map((row) => text(row.id)),
    );
}
