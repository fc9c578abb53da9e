import { type Clock, newTeamId, type TeamId } from "@boxyard/core";
import type { Retention } from "@boxyard/spec/platform";
import type { Session } from "./session.ts";
import { num, type Row, text } from "./sql-values.ts";

/** A team: what keys, sandboxes, templates and volumes belong to. */
export interface TeamRecord {
  readonly id: TeamId;
  /** Namespace of its templates; it never changes. */
  readonly slug: string;
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Limits of this team that differ from the server's, by name. */
  readonly limits: Readonly<Record<string, number>>;
  /** What is deleted by itself. */
  readonly retention: Retention;
}

/** What a team has that keeps it from being removed. */
export interface TeamHoldings {
  readonly sandboxes: number;
  readonly templates: number;
  readonly volumes: number;
}

/** The teams of all nodes. */
export class TeamRows {
  private readonly session: Session;
  private readonly clock: Clock;

  constructor(session: Session, clock: Clock) {
    this.session = session;
    this.clock = clock;
  }

  /** Oldest first. */
  async list(): Promise<TeamRecord[]> {
    return ((await this.session.sql`SELECT * FROM teams ORDER BY created_at, id`) as Row[]).map(teamOf);
  }

  /** The team with this id or slug. */
  async find(name: string): Promise<TeamRecord | undefined> {
    const [row] = (await this.session.sql`SELECT * FROM teams WHERE id = ${name} OR slug = ${name}`) as Row[];
    return row && teamOf(row);
  }

  /** Makes a team; undefined when the slug is taken. */
  async add(slug: string, name: string): Promise<TeamRecord | undefined> {
    const values = { id: newTeamId() as string, slug, name, created_at: this.clock.now() };
    return this.session.transaction(async (tx) => {
      const [row] = (await tx.sql`INSERT INTO teams ${tx.sql(values)} ON CONFLICT (slug) DO NOTHING RETURNING *`) as Row[];
      if (!row) return undefined;
      const team = teamOf(row);
      tx.record({ action: "team.created", targetId: team.id, teamId: team.id, after: { slug, name } });
      return team;
    });
  }

  /** Replaces name, limits and retention; undefined when there is no such team. */
  async change(id: TeamId, change: Pick<TeamRecord, "name" | "limits" | "retention">): Promise<TeamRecord | undefined> {
    const { name, limits, retention } = change;
    return this.session.transaction(async (tx) => {
      const [row] = (await tx.sql`UPDATE teams SET name = ${name}, limits = ${JSON.stringify(limits)},
          retention = ${JSON.stringify(retention)} WHERE id = ${id} RETURNING *`) as Row[];
      if (row) tx.record({ action: "team.changed", targetId: id, teamId: id, after: { name, limits, retention } });
      return row && teamOf(row);
    });
  }

  /** What a team has. Sandboxes that have ended do not count. */
  async holdings(id: TeamId): Promise<TeamHoldings> {
    const [row] = (await this.session.sql`SELECT
      (SELECT COUNT(*) FROM sandboxes WHERE team_id = ${id} AND state <> 'dead') AS sandboxes,
      (SELECT COUNT(*) FROM templates WHERE team_id = ${id}) AS templates,
      (SELECT COUNT(*) FROM volumes WHERE team_id = ${id}) AS volumes`) as Row[];
    return { sandboxes: num(row?.sandboxes), templates: num(row?.templates), volumes: num(row?.volumes) };
  }

  /** Removes a team that has nothing but its keys, secrets and webhooks, which go with it. Returns the ids of the keys; undefined when it still has something. */
  async remove(id: TeamId): Promise<string[] | undefined> {
    return this.session.transaction(async (tx) => {
      const [row] = (await tx.sql`DELETE FROM teams WHERE id = ${id}
        AND NOT EXISTS (SELECT 1 FROM sandboxes WHERE team_id = ${id} AND state <> 'dead')
        AND NOT EXISTS (SELECT 1 FROM templates WHERE team_id = ${id})
        AND NOT EXISTS (SELECT 1 FROM volumes WHERE team_id = ${id}) RETURNING slug, name`) as Row[];
      if (!row) return undefined;
      const keys = (await tx.sql`DELETE FROM api_keys WHERE team_id = ${id} RETURNING id`) as Row[];
      await tx.sql`DELETE FROM idempotency WHERE team_id = ${id}`;
      await tx.sql`DELETE FROM secrets WHERE team_id = ${id}`;
      await tx.sql`DELETE FROM webhook_deliveries WHERE webhook_id IN (SELECT id FROM webhooks WHERE team_id = ${id})`;
      await tx.sql`DELETE FROM webhooks WHERE team_id = ${id}`;
      tx.record({ action: "team.removed", targetId: id, teamId: id, before: { slug: text(row.slug), name: text(row.name) } });
      return keys.map((key) => text(key.id));
    });
  }
}

function teamOf(row: Row): TeamRecord {
  return {
    id: text(row.id) as TeamId,
    slug: text(row.slug),
    name: text(row.name),
    createdAt: num(row.created_at),
    limits: JSON.parse(text(row.limits)) as TeamRecord["limits"],
    retention: JSON.parse(text(row.retention)) as Retention,
  };
}
