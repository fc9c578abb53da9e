import { AppError, type SandboxId, type TeamId } from "@boxyard/core";
import type { Session } from "./session.ts";
import { type Row, text } from "./sql-values.ts";
import type { FormerName } from "./store.ts";

/** Throws `already_exists`, reason `sandbox_name_taken`, when a sandbox of the team, on whatever node, has the name. `own`: the one that may have it. */
export async function checkNameIsFree(tx: Session, teamId: TeamId, name: string | undefined, own: SandboxId): Promise<void> {
  if (name === undefined) return;
  const [row] = (await tx.sql`SELECT id FROM sandboxes WHERE team_id = ${teamId} AND name = ${name} AND id <> ${own}
    AND state NOT IN ('killing', 'dead')`) as Row[];
  if (row) throw nameTaken(name, text(row.id));
}

/** The same for a sandbox that the store has. */
export async function checkRename(tx: Session, id: SandboxId, name: string | undefined): Promise<void> {
  if (name === undefined) return;
  const [row] = (await tx.sql`SELECT team_id FROM sandboxes WHERE id = ${id}`) as Row[];
  if (row) await checkNameIsFree(tx, text(row.team_id) as TeamId, name, id);
}

/** The newest dead sandboxes that had names. */
export async function formerNames(session: Session, limit: number): Promise<FormerName[]> {
  const rows = (await session.sql`SELECT id, team_id, name FROM sandboxes WHERE state = 'dead' AND name IS NOT NULL
    ORDER BY ended_at DESC LIMIT ${limit}`) as Row[];
  return rows.map((row) => ({ id: text(row.id) as SandboxId, teamId: text(row.team_id) as TeamId, name: text(row.name) }));
}

export const nameTaken = (name: string, holder: string) =>
  new AppError("already_exists", `name: sandbox ${holder} has the name '${name}'; end or rename it, or choose another name`, {
    reason: "sandbox_name_taken",
    details: { holder },
  });
