import type { TeamId } from "@boxyard/core";
import type { Session } from "./session.ts";
import { num, type Row, text } from "./sql-values.ts";

/** A recording of exchanges by HTTP, of a team, on this node. The exchanges are in a file. */
export interface RecordingRecord {
  /** Also the name of its directory: random, so that nobody finds it who was not told. */
  readonly id: string;
  readonly teamId: TeamId;
  /** One recording of a team has it, on whatever node. */
  readonly name: string;
  /** Why something is missing: `size`, `count`, `disk` or `protocol` (`IncompleteReason`); undefined while nothing is. */
  readonly incomplete?: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** Something was not kept, and the recording goes on: it may be stopped later. */
const UNKEPT = "protocol";

/** The recordings of this node. */
export class RecordingRows {
  private readonly session: Session;
  private readonly node: string;

  constructor(session: Session, node: string) {
    this.session = session;
    this.node = node;
  }

  /** Adds nothing, and says why, when the team has a recording of this name, or has `most` recordings. */
  async add({ id, teamId, name, createdAt }: RecordingRecord, most: number): Promise<"added" | "name_taken" | "too_many"> {
    const values = { id, team_id: teamId as string, node: this.node, name, created_at: createdAt };
    return this.session.transaction(async (tx) => {
      const [row] = (await tx.sql`SELECT COUNT(*) AS number FROM recordings WHERE team_id = ${teamId}`) as Row[];
      if (num(row?.number) >= most) return "too_many";
      const added = await tx.sql`INSERT INTO recordings ${tx.sql(values)} ON CONFLICT (team_id, name) DO NOTHING RETURNING id`;
      if (added.length === 0) return "name_taken";
      tx.record({ action: "recording.created", targetId: id, teamId, after: { name } });
      return "added";
    });
  }

  /** The recording of a team with this name, on this node. */
  async find(teamId: TeamId, name: string): Promise<RecordingRecord | undefined> {
    const [row] = (await this.session
      .sql`SELECT * FROM recordings WHERE team_id = ${teamId} AND name = ${name} AND node = ${this.node}`) as Row[];
    return row && recordingOf(row);
  }

  /** Oldest first; of all teams without one. */
  async list(teamId?: TeamId): Promise<RecordingRecord[]> {
    const { sql } = this.session;
    const rows = await (teamId === undefined
      ? sql`SELECT * FROM recordings WHERE node = ${this.node} ORDER BY created_at, id`
      : sql`SELECT * FROM recordings WHERE team_id = ${teamId} AND node = ${this.node} ORDER BY created_at, id`);
    return (rows as Row[]).map(recordingOf);
  }

  /** Notes that something is missing; the first reason counts. */
  async markIncomplete(id: string, reason: string): Promise<void> {
    const replaced = reason === UNKEPT ? null : UNKEPT;
    await this.session.transaction(async (tx) => {
      const [row] = (await tx.sql`UPDATE recordings SET incomplete = ${reason} WHERE id = ${id}
        AND (incomplete IS NULL OR incomplete = ${replaced})
        RETURNING team_id, name`) as Row[];
      if (row)
        tx.record({
          action: "recording.incomplete",
          targetId: id,
          teamId: text(row.team_id) as TeamId,
          after: { name: text(row.name), incomplete: reason },
        });
    });
  }

  /** Returns whether there was one. */
  async remove(id: string): Promise<boolean> {
    return this.session.transaction(async (tx) => {
      const [row] = (await tx.sql`DELETE FROM recordings WHERE id = ${id} RETURNING team_id, name`) as Row[];
      if (row)
        tx.record({ action: "recording.removed", targetId: id, teamId: text(row.team_id) as TeamId, before: { name: text(row.name) } });
      return row !== undefined;
    });
  }
}

function recordingOf(row: Row): RecordingRecord {
  return {
    id: text(row.id),
    teamId: text(row.team_id) as TeamId,
    name: text(row.name),
    ...(row.incomplete !== null && { incomplete: text(row.incomplete) }),
    createdAt: num(row.created_at),
  };
}
