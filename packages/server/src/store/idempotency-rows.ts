import type { TeamId } from "@boxyard/core";
import type { Session } from "./session.ts";
import { num, type Row, text } from "./sql-values.ts";

/** The claim of an idempotency key by a create. */
export interface IdempotencyRecord {
  readonly teamId: TeamId;
  readonly key: string;
  /** SHA-256 of the request. */
  readonly fingerprint: string;
  /** Id of the sandbox or volume. */
  readonly madeId: string;
  readonly createdAt: number;
}

/** Claims an idempotency key. Returns undefined, or the earlier claim. */
export async function claimKey(session: Session, record: IdempotencyRecord): Promise<IdempotencyRecord | undefined> {
  const { teamId, key } = record;
  const values = {
    team_id: teamId as string,
    key,
    fingerprint: record.fingerprint,
    sandbox_id: record.madeId,
    created_at: record.createdAt,
  };
  const won = await session.sql`INSERT INTO idempotency ${session.sql(values)} ON CONFLICT (team_id, key) DO NOTHING RETURNING key`;
  if (won.length === 1) return undefined;
  const [row] = await session.sql`SELECT * FROM idempotency WHERE team_id = ${teamId} AND key = ${key}`;
  // Another caller has dropped the claim between the two statements: claim again.
  return row ? idempotencyOf(row) : claimKey(session, record);
}

function idempotencyOf(row: Row): IdempotencyRecord {
  return {
    teamId: text(row.team_id) as TeamId,
    key: text(row.key),
    fingerprint: text(row.fingerprint),
    madeId: text(row.sandbox_id),
    createdAt: num(row.created_at),
  };
}
