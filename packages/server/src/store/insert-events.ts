import type { SQL } from "bun";
import type { Actor } from "../actor.ts";
import type { EventDetail, NewEvent } from "./event.ts";
import { num, type Row } from "./sql-values.ts";

/** Limit for the JSON of the old or the new values. Of larger ones only the names are written. */
const MAX_DETAIL_BYTES = 4096;

/** Rows of one statement, which takes a limited number of values. */
const INSERTED_AT_ONCE = 500;

/** Writes events at the end of a transaction, with the next cursors. */
export async function insertEvents(tx: SQL, events: readonly NewEvent[], actor: Actor, at: number): Promise<void> {
  const [row] = (await tx`UPDATE event_counter SET last = last + ${events.length} RETURNING last`) as Row[];
  const first = num(row?.last) - events.length + 1;
  const rows = events.map(({ action, targetId, teamId, before, after, life }, index) => ({
    cursor: first + index,
    at,
    actor: actor.kind === "key" ? `key:${actor.id}` : actor.kind,
    address: actor.address ?? null,
    action: action as string,
    target_id: targetId,
    team_id: (teamId ?? null) as string | null,
    old_values: detailText(before),
    new_values: detailText(after),
    life: life ?? null,
  }));
  for (let done = 0; done < rows.length; done += INSERTED_AT_ONCE)
    await tx`INSERT INTO events ${tx(rows.slice(done, done + INSERTED_AT_ONCE))}`;
}

function detailText(detail: EventDetail | undefined): string | null {
  if (detail === undefined || Object.keys(detail).length === 0) return null;
  const json = JSON.stringify(detail);
  return Buffer.byteLength(json) <= MAX_DETAIL_BYTES ? json : JSON.stringify({ changed: Object.keys(detail) });
}
