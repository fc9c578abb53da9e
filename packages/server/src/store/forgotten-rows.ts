import type { Session } from "./session.ts";
import type { Row } from "./sql-values.ts";

/** Most records that one call of `pruneSandboxes` removes; the next round of the sweep removes more. */
const PRUNED_AT_ONCE = 1000;

/**
 * Sandboxes that ended before `time`, and living ones of another node that were to end before it and whose server did not come back: if it starts again,
 * its driver's sandboxes are orphans. Asked for every few seconds, so the index of nodes has to find these: the index of states leads to every sandbox that
 * runs. `state || ''` keeps SQLite from that index, and the two comparisons of `node` can use theirs, as `<>` cannot.
 */
export async function forgottenRows({ sql }: Session, node: string, time: number): Promise<Row[]> {
  const rows = await sql`SELECT id, state, node, team_id FROM sandboxes WHERE state = 'dead' AND ended_at < ${time}
    UNION ALL SELECT id, state, node, team_id FROM sandboxes WHERE node < ${node} AND end_at < ${time}
      AND (state || '') IN ('creating', 'running', 'snapshotting', 'killing', 'failed')
    UNION ALL SELECT id, state, node, team_id FROM sandboxes WHERE node > ${node} AND end_at < ${time}
      AND (state || '') IN ('creating', 'running', 'snapshotting', 'killing', 'failed') LIMIT ${PRUNED_AT_ONCE}`;
  return rows as Row[];
}
