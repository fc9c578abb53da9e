import type { TeamId } from "@boxyard/core";
import type { Session } from "./session.ts";
import { num, type Row, text } from "./sql-values.ts";

/** An event on its way to a webhook. It is removed when the webhook has taken it. */
export interface DeliveryRecord {
  readonly id: string;
  readonly webhookId: string;
  /** Of the event. */
  readonly cursor: number;
  readonly type: string;
  /** JSON, as it is sent. */
  readonly body: string;
  /** `dead`: given up, until somebody asks for it again. */
  readonly state: "waiting" | "dead";
  /** Those that have failed. */
  readonly attempts: number;
  /** When it is to be sent, milliseconds since 1970. */
  readonly dueAt: number;
  readonly createdAt: number;
  /** Why the last attempt failed. */
  readonly answer?: string;
}

export type NewDelivery = Pick<DeliveryRecord, "id" | "webhookId" | "cursor" | "type" | "body">;

/** Deliveries to all webhooks. */
export class DeliveryRows {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /** Adds deliveries that are due now, unless they are there already or their webhook has `most` that wait. Returns the ids of webhooks that lose one, once for each. */
  async add(deliveries: readonly NewDelivery[], now: number, most: number): Promise<string[]> {
    const lost: string[] = [];
    await this.session.transaction(async (tx) => {
      for (const { id, webhookId, cursor, type, body } of deliveries) {
        const [row] = (await tx.sql`SELECT COUNT(*) AS number FROM webhook_deliveries
          WHERE webhook_id = ${webhookId} AND state = 'waiting'`) as Row[];
        if (num(row?.number) >= most) {
          lost.push(webhookId);
          continue;
        }
        const values = { id, webhook_id: webhookId, cursor, type, body, state: "waiting", attempts: 0, due_at: now, created_at: now };
        await tx.sql`INSERT INTO webhook_deliveries ${tx.sql(values)} ON CONFLICT (webhook_id, cursor) DO NOTHING`;
      }
    });
    return lost;
  }

  /** The ids of webhooks that have something due, those that wait for the longest first. */
  async dueWebhooks(now: number): Promise<string[]> {
    const rows = (await this.session.sql`SELECT webhook_id, MIN(due_at) AS due FROM webhook_deliveries
      WHERE state = 'waiting' AND due_at <= ${now} GROUP BY webhook_id ORDER BY due`) as Row[];
    return rows.map((row) => text(row.webhook_id));
  }

  /** The oldest delivery of a webhook that is due. */
  async nextOf(webhookId: string, now: number): Promise<DeliveryRecord | undefined> {
    const [row] = (await this.session.sql`SELECT * FROM webhook_deliveries
      WHERE webhook_id = ${webhookId} AND state = 'waiting' AND due_at <= ${now} ORDER BY cursor LIMIT 1`) as Row[];
    return row && deliveryOf(row);
  }

  /** When a delivery becomes due after `now`, milliseconds since 1970. */
  async nextDue(now: number): Promise<number | undefined> {
    const [row] = (await this.session.sql`SELECT MIN(due_at) AS due FROM webhook_deliveries
      WHERE state = 'waiting' AND due_at > ${now}`) as Row[];
    return row === undefined || row.due === null ? undefined : num(row.due);
  }

  /** Removes a delivery that the webhook has taken. */
  async remove(id: string): Promise<void> {
    await this.session.sql`DELETE FROM webhook_deliveries WHERE id = ${id}`;
  }

  /** Removes what is left for a webhook that is gone. */
  async forget(webhookId: string): Promise<void> {
    await this.session.sql`DELETE FROM webhook_deliveries WHERE webhook_id = ${webhookId}`;
  }

  /** Notes an attempt that failed: the next one is due at `dueAt`; without it the delivery is dead. */
  async failed(id: string, answer: string, dueAt: number | undefined): Promise<void> {
    await this.session.sql`UPDATE webhook_deliveries SET attempts = attempts + 1, answer = ${answer}, due_at = ${dueAt ?? 0},
      state = ${dueAt === undefined ? "dead" : "waiting"} WHERE id = ${id}`;
  }

  /** Removes the oldest dead deliveries of a webhook beyond `most`. Returns how many. */
  async pruneDead(webhookId: string, most: number): Promise<number> {
    const rows = await this.session.sql`DELETE FROM webhook_deliveries WHERE webhook_id = ${webhookId} AND state = 'dead' AND cursor <=
      (SELECT cursor FROM webhook_deliveries WHERE webhook_id = ${webhookId} AND state = 'dead' ORDER BY cursor DESC LIMIT 1 OFFSET ${most})
      RETURNING id`;
    return rows.length;
  }

  /** Oldest first. */
  async list(webhookId: string, state: DeliveryRecord["state"] | undefined, limit: number): Promise<DeliveryRecord[]> {
    const { sql } = this.session;
    const rows = await (state === undefined
      ? sql`SELECT * FROM webhook_deliveries WHERE webhook_id = ${webhookId} ORDER BY cursor LIMIT ${limit}`
      : sql`SELECT * FROM webhook_deliveries WHERE webhook_id = ${webhookId} AND state = ${state} ORDER BY cursor LIMIT ${limit}`);
    return (rows as Row[]).map(deliveryOf);
  }

  /** How many of a team's webhooks' deliveries wait and are dead, by the id of the webhook. */
  async counts(teamId: TeamId): Promise<ReadonlyMap<string, { readonly waiting: number; readonly dead: number }>> {
    const rows = (await this.session.sql`SELECT d.webhook_id, SUM(CASE WHEN d.state = 'waiting' THEN 1 ELSE 0 END) AS waiting,
      SUM(CASE WHEN d.state = 'dead' THEN 1 ELSE 0 END) AS dead FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
      WHERE w.team_id = ${teamId} GROUP BY d.webhook_id`) as Row[];
    return new Map(rows.map((row) => [text(row.webhook_id), { waiting: num(row.waiting), dead: num(row.dead) }]));
  }

  /** Makes dead deliveries of a webhook due again, those with these ids or all. Returns how many. */
  async resend(teamId: TeamId, webhookId: string, ids: readonly string[] | undefined, now: number): Promise<number> {
    return this.session.transaction(async (tx) => {
      const rows = await (ids === undefined
        ? tx.sql`UPDATE webhook_deliveries SET state = 'waiting', attempts = 0, due_at = ${now}
            WHERE webhook_id = ${webhookId} AND state = 'dead' RETURNING id`
        : tx.sql`UPDATE webhook_deliveries SET state = 'waiting', attempts = 0, due_at = ${now}
            WHERE webhook_id = ${webhookId} AND state = 'dead' AND id IN ${tx.sql([...ids, ""])} RETURNING id`);
      if (rows.length > 0) tx.record({ action: "webhook.resent", targetId: webhookId, teamId, after: { deliveries: rows.length } });
      return rows.length;
    });
  }
}

function deliveryOf(row: Row): DeliveryRecord {
  return {
    id: text(row.id),
    webhookId: text(row.webhook_id),
    cursor: num(row.cursor),
    type: text(row.type),
    body: text(row.body),
    state: text(row.state) as DeliveryRecord["state"],
    attempts: num(row.attempts),
    dueAt: num(row.due_at),
    createdAt: num(row.created_at),
    ...(row.answer === null ? {} : { answer: text(row.answer) }),
  };
}
