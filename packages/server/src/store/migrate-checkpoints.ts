import type { SQL } from "bun";
import type { TemplateSpec } from "./records.ts";
import { num, type Row, text } from "./sql-values.ts";

/** Builds that are read at once. */
const ROWS_AT_ONCE = 500;

/** A version's checkpoint, as its spec names it. */
interface Named {
  readonly id: string;
  readonly memory: boolean;
  readonly sandboxId: string | undefined;
}

/**
 * Makes the checkpoints of a store from before there were any: until then the spec of a build was the only place that named a snapshot. Their bytes and
 * parents are not known. Like the sandboxes of the first schemas, they get their node when the store is opened.
 */
export async function adoptCheckpoints(tx: SQL): Promise<void> {
  for (let last = ""; ; ) {
    const rows = (await tx`SELECT b.id, b.spec, b.created_at, t.team_id, t.name,
      (SELECT MIN(g.tag) FROM template_tags g WHERE g.build_id = b.id) AS tag
      FROM template_builds b JOIN templates t ON t.id = b.template_id WHERE b.spec <> '' AND b.id > ${last} ORDER BY b.id LIMIT ${ROWS_AT_ONCE}`) as Row[];
    for (const row of rows) await adoptBuild(tx, row);
    if (rows.length < ROWS_AT_ONCE) break;
    last = text(rows.at(-1)?.id);
  }
  // The versions of a template were all snapshots, or none was.
  await tx`UPDATE templates SET kind = 'snapshot' WHERE id IN (SELECT template_id FROM template_builds WHERE checkpoint_id IN
    (SELECT id FROM checkpoints WHERE sandbox_id IS NOT NULL))`;
}

async function adoptBuild(tx: SQL, row: Row): Promise<void> {
  const named = checkpointIn(JSON.parse(text(row.spec)) as TemplateSpec);
  if (!named) return;
  const { id, memory, sandboxId } = named;
  await tx`UPDATE template_builds SET checkpoint_id = ${id} WHERE id = ${text(row.id)}`;
  // The snapshot of a build without a tag was not kept.
  if (row.tag === null) return;
  const [newest] = (await tx`SELECT COALESCE(MAX(sequence), 0) AS newest FROM checkpoints WHERE sandbox_id = ${sandboxId ?? ""}`) as Row[];
  const values = {
    id,
    team_id: text(row.team_id),
    node: "",
    sandbox_id: sandboxId ?? null,
    parent_id: null,
    sequence: num(newest?.newest) + 1,
    state: "committed",
    memory: memory ? 1 : 0,
    bytes: null,
    reference: id,
    name: row.name,
    tag: row.tag,
    reference_count: 1,
    created_at: num(row.created_at),
  };
  await tx`INSERT INTO checkpoints ${tx(values)}`;
  await tx`INSERT INTO checkpoint_references ${tx({ checkpoint_id: id, kind: "build", holder: text(row.id) })}`;
}

function checkpointIn({ snapshot, started }: TemplateSpec): Named | undefined {
  if (snapshot) return { id: snapshot.id, memory: snapshot.memory, sandboxId: snapshot.sandboxId };
  return started === undefined ? undefined : { id: started, memory: true, sandboxId: undefined };
}
