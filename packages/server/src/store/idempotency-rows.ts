import { idempotencyOf } from "./key-rows.ts";
import type { IdempotencyRecord } from "./records.ts";
import type { Session } from "./session.ts";

/** Claims an idempotency key. Returns undefined, or the earlier claim. */
export async function claimKey(session: Session, record: IdempotencyRecord): Promise<IdempotencyRecord | undefined> {
  const { teamId, key } = record;
  const values = {
    team_id: teamId as string,
    key,
    fingerprint: record.fingerprint,
    sandbox_id: record.sandboxId as string,
    created_at: record.createdAt,
  };
  const won = await session.sql`INSERT INTO idempotency ${session.sql(values)} ON CONFLICT (team_id, key) DO NOTHING RETURNING key`;
  if (won.length === 1) return undefined;
  const [row] = await session.sql`SELECT * FROM idempotency WHERE team_id = ${teamId} AND key = ${key}`;
  // Another caller has dropped the claim between the two statements: claim again.
  return row ? idempotencyOf(row) : claimKey(session, record);
}
