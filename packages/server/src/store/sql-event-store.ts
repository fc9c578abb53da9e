import type { TeamId } from "@boxyard/core";
import { LIFECYCLE_TYPES } from "@boxyard/spec/platform";
import { type Actor, SERVER } from "../actor.ts";
import type { EventDetail, EventFilter, EventStore, LivesQuery, NewEvent, StoreEvent } from "./event.ts";
import type { Session } from "./session.ts";
import { num, optionalNum, type Row, text } from "./sql-values.ts";

/** Most events that one call of `prune` removes; the next round of the sweep removes more. */
const PRUNED_AT_ONCE = 10_000;

/** Events on SQL, for `SqlStore`. */
export class SqlEventStore implements EventStore {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  async read(after: number, limit: number): Promise<StoreEvent[]> {
    const rows = await this.session.sql`SELECT * FROM events WHERE cursor > ${after} ORDER BY cursor LIMIT ${limit}`;
    return (rows as Row[]).map(eventOf);
  }

  async readOf(teamId: TeamId, after: number, limit: number, { action = "", targetId }: EventFilter = {}): Promise<StoreEvent[]> {
    const { sql } = this.session;
    if (targetId !== undefined) {
      const like = likeOf(action);
      const rows = await sql`SELECT * FROM events WHERE target_id = ${targetId} AND cursor > ${after} AND team_id = ${teamId}
        AND action LIKE ${like} ORDER BY cursor LIMIT ${limit}`;
      return (rows as Row[]).map(eventOf);
    }
    if (action !== "") return this.readActions(teamId, after, limit, action);
    const rows = await sql`SELECT * FROM events WHERE team_id = ${teamId} AND cursor > ${after} ORDER BY cursor LIMIT ${limit}`;
    return (rows as Row[]).map(eventOf);
  }

  /**
   * Events of one action, or of all actions of a kind, each read by its own part of an index: a team that has few of them among many others is not read as
   * a whole. Events that are committed meanwhile are left for the next read, else it could miss one of them behind a later one of another action.
   */
  private async readActions(teamId: TeamId, after: number, limit: number, wanted: string): Promise<StoreEvent[]> {
    const { sql } = this.session;
    const until = await this.newest();
    const found = await Promise.all(
      (await this.actionsLike(teamId, wanted)).map(
        (action) =>
          sql`SELECT * FROM events WHERE team_id = ${teamId} AND action = ${action} AND cursor > ${after}
          ORDER BY cursor LIMIT ${limit}` as Promise<Row[]>,
      ),
    );
    // Not a bound of the statement: with two of them SQLite takes the index without the action.
    const committed = found.flat().filter((row) => num(row.cursor) <= until);
    const rows = committed.sort((a, b) => num(a.cursor) - num(b.cursor));
    return rows.slice(0, limit).map(eventOf);
  }

  /** The actions that a team has events of: one step in the index for each. */
  private async actionsOf(teamId: TeamId): Promise<string[]> {
    const rows = (await this.session.sql`WITH RECURSIVE seen(action) AS (
        SELECT MIN(action) FROM events WHERE team_id = ${teamId}
        UNION ALL SELECT (SELECT MIN(e.action) FROM events e WHERE e.team_id = ${teamId} AND e.action > seen.action) FROM seen
          WHERE seen.action IS NOT NULL)
      SELECT action FROM seen WHERE action IS NOT NULL`) as Row[];
    return rows.map((row) => text(row.action));
  }

  async readBackOf(teamId: TeamId, before: number, limit: number, { action = "", targetId }: EventFilter = {}): Promise<StoreEvent[]> {
    const { sql } = this.session;
    if (targetId !== undefined) {
      const like = likeOf(action);
      const rows = await sql`SELECT * FROM events WHERE target_id = ${targetId} AND cursor < ${before} AND team_id = ${teamId}
        AND action LIKE ${like} ORDER BY cursor DESC LIMIT ${limit}`;
      return (rows as Row[]).map(eventOf);
    }
    if (action !== "") return this.readActionsBack(teamId, before, limit, action);
    const rows = await sql`SELECT * FROM events WHERE team_id = ${teamId} AND cursor < ${before} ORDER BY cursor DESC LIMIT ${limit}`;
    return (rows as Row[]).map(eventOf);
  }

  /** As `readActions`, from the other end. What is committed meanwhile is newer than everything that is asked for, or may be missing: it comes by a stream. */
  private async readActionsBack(teamId: TeamId, before: number, limit: number, wanted: string): Promise<StoreEvent[]> {
    const found = await Promise.all(
      (await this.actionsLike(teamId, wanted)).map(
        (action) =>
          this.session.sql`SELECT * FROM events WHERE team_id = ${teamId} AND action = ${action} AND cursor < ${before}
          ORDER BY cursor DESC LIMIT ${limit}` as Promise<Row[]>,
      ),
    );
    const rows = found.flat().sort((a, b) => num(b.cursor) - num(a.cursor));
    return rows.slice(0, limit).map(eventOf);
  }

  /** The action itself, or those of a kind of target that the team has events of. */
  private async actionsLike(teamId: TeamId, wanted: string): Promise<string[]> {
    return wanted.includes(".") ? [wanted] : (await this.actionsOf(teamId)).filter((action) => action.startsWith(`${wanted}.`));
  }

  async livesOf(teamId: TeamId, { offset, limit, oldestFirst, types = LIFECYCLE_TYPES, targetId }: LivesQuery): Promise<StoreEvent[]> {
    const { sql } = this.session;
    if (targetId !== undefined) {
      const lives = sql([...types, ""]);
      const ofOne = oldestFirst
        ? await sql`SELECT * FROM events WHERE target_id = ${targetId} AND team_id = ${teamId} AND life IN ${lives}
            ORDER BY cursor LIMIT ${limit} OFFSET ${offset}`
        : await sql`SELECT * FROM events WHERE target_id = ${targetId} AND team_id = ${teamId} AND life IN ${lives}
            ORDER BY cursor DESC LIMIT ${limit} OFFSET ${offset}`;
      return (ofOne as Row[]).map(eventOf);
    }
    const cursors = await this.cursorsOfLives(teamId, { offset, limit, oldestFirst, types });
    if (cursors.length === 0) return [];
    const rows = (await sql`SELECT * FROM events WHERE cursor IN ${sql(cursors)} ORDER BY cursor`) as Row[];
    return (oldestFirst ? rows : rows.reverse()).map(eventOf);
  }

  /** Each type is a part of the index that is in order: the database merges them, and reads no more than it skips and gives. */
  private async cursorsOfLives(team: TeamId, { offset, limit, oldestFirst, types }: LivesQuery): Promise<number[]> {
    const { sql } = this.session;
    const [a, b, c, d, e, f] = LIFECYCLE_TYPES.map((type) => (types?.includes(type) ? type : ""));
    const rows = oldestFirst
      ? await sql`SELECT cursor FROM events WHERE team_id = ${team} AND life = ${a} UNION ALL SELECT cursor FROM events WHERE team_id = ${team} AND life = ${b}
          UNION ALL SELECT cursor FROM events WHERE team_id = ${team} AND life = ${c} UNION ALL SELECT cursor FROM events WHERE team_id = ${team} AND life = ${d}
          UNION ALL SELECT cursor FROM events WHERE team_id = ${team} AND life = ${e} UNION ALL SELECT cursor FROM events WHERE team_id = ${team} AND life = ${f}
          ORDER BY cursor LIMIT ${limit} OFFSET ${offset}`
      : await sql`SELECT cursor FROM events WHERE team_id = ${team} AND life = ${a} UNION ALL SELECT cursor FROM events WHERE team_id = ${team} AND life = ${b}
          UNION ALL SELECT cursor FROM events WHERE team_id = ${team} AND life = ${c} UNION ALL SELECT cursor FROM events WHERE team_id = ${team} AND life = ${d}
          UNION ALL SELECT cursor FROM events WHERE team_id = ${team} AND life = ${e} UNION ALL SELECT cursor FROM events WHERE team_id = ${team} AND life = ${f}
          ORDER BY cursor DESC LIMIT ${limit} OFFSET ${offset}`;
    return (rows as Row[]).map((row) => num(row.cursor));
  }

  note(events: readonly NewEvent[]): Promise<void> {
    return this.session.transaction(async (tx) => {
      for (const event of events) tx.record(event);
    });
  }

  subscribe(listener: (actions: readonly string[]) => void): () => void {
    return this.session.committed.subscribe(listener);
  }

  async newest(): Promise<number> {
    const [row] = (await this.session.sql`SELECT last FROM event_counter`) as Row[];
    return num(row?.last);
  }

  async cursorOf(reader: string): Promise<number | undefined> {
    const [row] = (await this.session.sql`SELECT cursor FROM event_readers WHERE name = ${reader}`) as Row[];
    return row && optionalNum(row.cursor);
  }

  async saveCursor(reader: string, cursor: number): Promise<void> {
    await this.session.sql`INSERT INTO event_readers (name, cursor) VALUES (${reader}, ${cursor})
      ON CONFLICT (name) DO UPDATE SET cursor = excluded.cursor`;
  }

  async prune(time: number, keep: number): Promise<void> {
    const surplus = (await this.newest()) - keep;
    const isKept = (row: Row) => num(row.cursor) > surplus && num(row.at) >= time;
    const [first] = (await this.session.sql`SELECT cursor, at FROM events ORDER BY cursor LIMIT 1`) as Row[];
    // As a rule there is nothing to remove, and thousands of rows need not be read to know that.
    if (!first || isKept(first)) return;
    const oldest = (await this.session.sql`SELECT cursor, at FROM events ORDER BY cursor LIMIT ${PRUNED_AT_ONCE}`) as Row[];
    // Up to the first event to keep: an event that was stamped while the clock was behind must not take younger ones before it with it.
    const kept = oldest.findIndex(isKept);
    const last = kept === -1 ? oldest.at(-1) : oldest[kept - 1];
    if (last) await this.session.sql`DELETE FROM events WHERE cursor <= ${num(last.cursor)}`;
  }
}

/** Kinds of targets and actions are words: no character of theirs means something else in LIKE. */
const likeOf = (action: string) => (action.includes(".") ? action : action === "" ? "%" : `${action}.%`);

function eventOf(row: Row): StoreEvent {
  const before = row.old_values === null ? undefined : (JSON.parse(text(row.old_values)) as EventDetail);
  const after = row.new_values === null ? undefined : (JSON.parse(text(row.new_values)) as EventDetail);
  return {
    cursor: num(row.cursor),
    at: num(row.at),
    actor: { ...actorOf(text(row.actor)), ...(row.address === null ? {} : { address: text(row.address) }) },
    action: text(row.action) as StoreEvent["action"],
    targetId: text(row.target_id),
    ...(row.team_id === null ? {} : { teamId: text(row.team_id) as TeamId }),
    ...(before && { before }),
    ...(after && { after }),
  };
}

function actorOf(stored: string): Actor {
  if (stored.startsWith("key:")) return { kind: "key", id: stored.slice("key:".length) };
  return stored === "admin" ? { kind: "admin" } : SERVER;
}
