import type { Clock, TeamId } from "@boxyard/core";
import type { NewEvent } from "./event.ts";
import type { Session } from "./session.ts";
import { num, type Row, text } from "./sql-values.ts";

/** An announcement that something will be deleted. */
interface Announcement {
  readonly kind: string;
  readonly id: string;
  readonly teamId: TeamId;
  readonly action: NewEvent["action"];
  /** Wall time in milliseconds. */
  readonly deleteAt: number;
}

/** The deletions that were announced. */
export class RetentionRows {
  private readonly session: Session;
  private readonly clock: Clock;

  constructor(session: Session, clock: Clock) {
    this.session = session;
    this.clock = clock;
  }

  /** When the deletions of a kind were announced, by id. */
  async list(kind: string): Promise<Map<string, number>> {
    const rows = (await this.session.sql`SELECT id, at FROM retention_notices WHERE kind = ${kind}`) as Row[];
    return new Map(rows.map((row) => [text(row.id), num(row.at)]));
  }

  /** Notes an announcement, with its event. Repeatable: the first one counts. */
  async announce({ kind, id, teamId, action, deleteAt }: Announcement): Promise<void> {
    await this.session.transaction(async (tx) => {
      const values = { kind, id, at: this.clock.now() };
      const added = await tx.sql`INSERT INTO retention_notices ${tx.sql(values)} ON CONFLICT (kind, id) DO NOTHING RETURNING id`;
      if (added.length === 1) tx.record({ action, targetId: id, teamId, after: { deleteAt } });
    });
  }

  /** Forgets announcements: those of what is gone, and of what no rule deletes any more. */
  async forget(kind: string, ids: readonly string[]): Promise<void> {
    for (let at = 0; at < ids.length; at += 500)
      await this.session.sql`DELETE FROM retention_notices WHERE kind = ${kind} AND id IN ${this.session.sql(ids.slice(at, at + 500))}`;
  }
}
