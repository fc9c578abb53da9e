import { randomBytes, randomUUID } from "node:crypto";
import { AppError, type Clock, type SandboxId, sandboxNotFound, type TeamId } from "@boxyard/core";
import type { LifecycleEvent, NewWebhook, WebhookChange } from "@boxyard/spec/platform";
import { limitMet } from "../limit-met.ts";
import type { FetchPolicy } from "../registry/fetch-policy.ts";
import type { DeliveryRecord, LivesQuery, Store, WebhookRecord } from "../store/index.ts";
import { LifecycleEvents } from "./lifecycle.ts";
import type { WebhookSender } from "./sender.ts";

export interface WebhooksParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly fetchPolicy: FetchPolicy;
  readonly sender: Pick<WebhookSender, "wake" | "known">;
}

export interface WebhookState extends WebhookRecord {
  readonly waiting: number;
  readonly dead: number;
}

export type LifecycleQuery = Omit<LivesQuery, "targetId">;

const MAX_WEBHOOKS = 20;

/** The webhooks of teams, and the events of their sandboxes' lives. Webhooks of other teams are `not_found`. */
export class Webhooks {
  private readonly parts: WebhooksParts;

  constructor(parts: WebhooksParts) {
    this.parts = parts;
  }

  /** Returns the secret where it was made here. Throws `invalid_argument` for an address that the server will not send to; `resource_exhausted`. */
  async create(teamId: TeamId, wanted: NewWebhook): Promise<{ readonly webhook: WebhookRecord; readonly madeSecret: string | undefined }> {
    const { store, clock, sender } = this.parts;
    this.checkUrl(wanted.url);
    const { name, url, enabled, events, signatureSecret } = wanted;
    const webhook = { id: randomUUID() as string, teamId, name, url, enabled, events: [...new Set(events)], createdAt: clock.now() };
    const madeSecret = signatureSecret === undefined ? `whsec_${randomBytes(24).toString("base64url")}` : undefined;
    if (!(await store.webhooks.add({ ...webhook, secret: signatureSecret ?? (madeSecret as string) }, MAX_WEBHOOKS))) {
      throw limitMet({ limit: "webhooks", value: MAX_WEBHOOKS, reason: "webhook_limit_reached", advice: "delete some" });
    }
    sender.known.forget();
    return { webhook, madeSecret };
  }

  /** Oldest first. */
  async list(teamId: TeamId): Promise<WebhookState[]> {
    const { store } = this.parts;
    const [webhooks, counts] = await Promise.all([store.webhooks.list(teamId), store.deliveries.counts(teamId)]);
    return webhooks.map((webhook) => ({ ...webhook, ...(counts.get(webhook.id) ?? { waiting: 0, dead: 0 }) }));
  }

  /** Throws `not_found`. */
  async get(teamId: TeamId, id: string): Promise<WebhookState> {
    const found = (await this.list(teamId)).find((webhook) => webhook.id === id);
    if (!found) throw notFound(id);
    return found;
  }

  /** Throws `not_found`; `invalid_argument` for an address that the server will not send to. */
  async update(teamId: TeamId, id: string, { signatureSecret, ...change }: WebhookChange): Promise<WebhookState> {
    const { store, sender } = this.parts;
    if (change.url !== undefined) this.checkUrl(change.url);
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
    const wanted = { ...given, ...(signatureSecret !== undefined && { secret: signatureSecret }) };
    if (Object.keys(wanted).length > 0 && !(await store.webhooks.change(teamId, id, wanted))) throw notFound(id);
    sender.known.forget();
    sender.wake();
    return this.get(teamId, id);
  }

  /** Throws `not_found`. */
  async remove(teamId: TeamId, id: string): Promise<void> {
    const { store, sender } = this.parts;
    if (!(await store.webhooks.remove(teamId, id))) throw notFound(id);
    sender.known.forget();
  }

  /** Oldest first. Throws `not_found`. */
  async deliveries(teamId: TeamId, id: string, state: DeliveryRecord["state"] | undefined, limit: number): Promise<DeliveryRecord[]> {
    await this.get(teamId, id);
    return this.parts.store.deliveries.list(id, state, limit);
  }

  /** Sends dead deliveries again: those with these ids, or all. Returns how many. Throws `not_found`. */
  async resend(teamId: TeamId, id: string, deliveries: readonly string[] | undefined): Promise<number> {
    const { store, clock, sender } = this.parts;
    await this.get(teamId, id);
    const resent = await store.deliveries.resend(teamId, id, deliveries, clock.now());
    sender.wake();
    return resent;
  }

  /** Events of sandboxes' lives: of one sandbox, or of all of the team. Throws `not_found` for a sandbox of which the team has neither event nor record. */
  async lifecycle(teamId: TeamId, sandboxId: SandboxId | undefined, query: LifecycleQuery): Promise<LifecycleEvent[]> {
    const { store } = this.parts;
    if (sandboxId !== undefined && !(await this.hasKnown(teamId, sandboxId))) throw sandboxNotFound(sandboxId);
    return new LifecycleEvents(store).ofAll(await store.events.livesOf(teamId, { ...query, targetId: sandboxId }));
  }

  /** A sandbox may live longer than its events are kept, and its events may be kept longer than its record. */
  private async hasKnown(teamId: TeamId, targetId: SandboxId): Promise<boolean> {
    const { store } = this.parts;
    if ((await store.events.readOf(teamId, 0, 1, { action: "sandbox", targetId })).length > 0) return true;
    const record = await store.getSandbox(targetId);
    return record?.teamId === teamId && record.owner.kind === "user";
  }

  private checkUrl(text: string): void {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (!url || !/^https?:$/.test(url.protocol)) throw refuse("must be an address that begins with https://");
    if (url.username !== "" || url.password !== "") throw refuse("must not hold a password; deliveries are signed");
    try {
      this.parts.fetchPolicy.checkName(url, url.host);
    } catch (error) {
      throw refuse((error as Error).message);
    }
  }
}

const refuse = (message: string) => new AppError("invalid_argument", `url: ${message}`, { reason: "bad_webhook_url" });
const notFound = (id: string) => new AppError("not_found", `There is no webhook '${id.slice(0, 100)}'`, { reason: "webhook_not_found" });
