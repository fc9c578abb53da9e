import type { LifecycleType } from "@boxyard/spec/platform";
import type { SQL } from "bun";
import type { EventDetail, NewEvent } from "./event.ts";
import { num, type Row, text } from "./sql-values.ts";

/** Changes of a record that are none of the sandbox for its owner. */
const INNER: ReadonlySet<string> = new Set(["checkpointId", "usage", "owner"]);

/** What an event is in the life of a user's sandbox; undefined for most events. */
export function lifecycleOf({ action, before, after }: Pick<NewEvent, "action" | "before" | "after">): LifecycleType | undefined {
  const from = before?.state;
  if (action === "sandbox.running") {
    if (from === "creating") return "sandbox.lifecycle.created";
    if (from === "resuming") return "sandbox.lifecycle.resumed";
    return from === "snapshotting" ? "sandbox.lifecycle.checkpointed" : undefined;
  }
  if (action === "sandbox.paused") return from === "pausing" ? "sandbox.lifecycle.paused" : undefined;
  // A sandbox that could not be made was none for its owner.
  if (action === "sandbox.dead") return after?.reason === "create_failed" ? undefined : "sandbox.lifecycle.killed";
  if (action !== "sandbox.changed") return undefined;
  return Object.keys(after ?? {}).some((name) => !INNER.has(name)) ? "sandbox.lifecycle.updated" : undefined;
}

/** Rows that are read at once. */
const BATCH = 5000;

/** Gives the events of a store that is older than the column `life` their values. */
export async function markLives(tx: SQL): Promise<void> {
  for (let cursor = -1; ; ) {
    const rows = (await tx`SELECT e.cursor, e.action, e.old_values, e.new_values FROM events e JOIN sandboxes s ON s.id = e.target_id
      WHERE e.cursor > ${cursor} AND s.owner = 'user' AND e.action IN ('sandbox.running', 'sandbox.paused', 'sandbox.dead', 'sandbox.changed')
      ORDER BY e.cursor LIMIT ${BATCH}`) as Row[];
    const last = rows.at(-1);
    if (!last) return;
    for (const [life, some] of Map.groupBy(rows, lifeOfRow)) {
      if (life !== undefined) await tx`UPDATE events SET life = ${life} WHERE cursor IN ${tx(some.map((row) => num(row.cursor)))}`;
    }
    cursor = num(last.cursor);
  }
}

function lifeOfRow(row: Row): LifecycleType | undefined {
  const detail = (value: unknown) => (value === null ? {} : (JSON.parse(text(value)) as EventDetail));
  return lifecycleOf({ action: text(row.action) as NewEvent["action"], before: detail(row.old_values), after: detail(row.new_values) });
}
