import type { TeamId } from "@boxyard/core";
import type { Secrets } from "./secrets.ts";
import type { Session } from "./session.ts";
import { num, type Row, text } from "./sql-values.ts";

/** A webhook of a team, without its secret. */
export interface WebhookRecord {
  readonly id: string;
  readonly teamId: TeamId;
  readonly name: string;
  readonly url: string;
  /** Lifecycle types, actions, kinds of targets, or `*`. */
  readonly events: readonly string[];
  readonly enabled: boolean;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

export type WebhookUpdate = Partial<Pick<WebhookRecord, "name" | "url" | "events" | "enabled">> & { readonly secret?: string };

const placeOf = (id: string) => `webhooks/${id}`;

/** The webhooks of all teams. Their secrets are sealed. */
export class WebhookRows {
  private readonly session: Session;
  private readonly sealing: Secrets;

  constructor(session: Session, sealing: Secrets) {
    this.session = session;
    this.sealing = sealing;
  }

  /** Adds nothing, and returns false, when the team has `most` webhooks. */
  async add({ secret, ...record }: WebhookRecord & { readonly secret: string }, most: number): Promise<boolean> {
    const { id, teamId, name, url, events, enabled, createdAt } = record;
    const values = {
      ...{ id, team_id: teamId as string, name, url, events: JSON.stringify(events), enabled: enabled ? 1 : 0 },
      ...{ secret: this.sealing.seal(secret, placeOf(id)), created_at: createdAt },
    };
    return this.session.transaction(async (tx) => {
      const [row] = (await tx.sql`SELECT COUNT(*) AS number FROM webhooks WHERE team_id = ${teamId}`) as Row[];
      if (num(row?.number) >= most) return false;
      await tx.sql`INSERT INTO webhooks ${tx.sql(values)}`;
      tx.record({ action: "webhook.created", targetId: id, teamId, after: { name } });
      return true;
    });
  }

  async find(id: string): Promise<WebhookRecord | undefined> {
    const [row] = (await this.session.sql`SELECT * FROM webhooks WHERE id = ${id}`) as Row[];
    return row && webhookOf(row);
  }

  /** Oldest first; of all teams without one. */
  async list(teamId?: TeamId): Promise<WebhookRecord[]> {
    const { sql } = this.session;
    const rows = await (teamId === undefined
      ? sql`SELECT * FROM webhooks ORDER BY created_at, id`
      : sql`SELECT * FROM webhooks WHERE team_id = ${teamId} ORDER BY created_at, id`);
    return (rows as Row[]).map(webhookOf);
  }

  /** The secret of a webhook; undefined where there is no webhook, or another data directory has sealed it. */
  async secretOf(id: string): Promise<string | undefined> {
    const [row] = (await this.session.sql`SELECT secret FROM webhooks WHERE id = ${id}`) as Row[];
    return row && this.sealing.unseal(text(row.secret), placeOf(id));
  }

  /** Changes what is named; undefined if the team has no such webhook. */
  async change(teamId: TeamId, id: string, change: WebhookUpdate): Promise<WebhookRecord | undefined> {
    const { name, url, events, enabled, secret } = change;
    const columns = {
      team_id: teamId as string,
      ...(name !== undefined && { name }),
      ...(url !== undefined && { url }),
      ...(events !== undefined && { events: JSON.stringify(events) }),
      ...(enabled !== undefined && { enabled: enabled ? 1 : 0 }),
      ...(secret !== undefined && { secret: this.sealing.seal(secret, placeOf(id)) }),
    };
    return this.session.transaction(async (tx) => {
      const [row] = (await tx.sql`UPDATE webhooks SET ${tx.sql(columns)} WHERE id = ${id} AND team_id = ${teamId} RETURNING *`) as Row[];
      if (!row) return undefined;
      tx.record({ action: "webhook.changed", targetId: id, teamId, after: { changed: Object.keys(change) } });
      return webhookOf(row);
    });
  }

  /** Removes a webhook with its deliveries. Returns whether the team had it. */
  async remove(teamId: TeamId, id: string): Promise<boolean> {
    return this.session.transaction(async (tx) => {
      const [row] = (await tx.sql`DELETE FROM webhooks WHERE id = ${id} AND team_id = ${teamId} RETURNING name`) as Row[];
      if (!row) return false;
      await tx.sql`DELETE FROM webhook_deliveries WHERE webhook_id = ${id}`;
      tx.record({ action: "webhook.removed", targetId: id, teamId, before: { name: text(row.name) } });
      return true;
    });
  }
}

function webhookOf(row: Row): WebhookRecord {
  return {
    id: text(row.id),
    teamId: text(row.team_id) as TeamId,
    name: text(row.name),
    url: text(row.url),
    events: JSON.parse(text(row.events)) as string[],
    enabled: num(row.enabled) === 1,
    createdAt: num(row.created_at),
  };
}
