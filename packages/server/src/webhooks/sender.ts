import { type Clock, isAppError, type TeamId, TimeLimit } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { EventReader } from "../event-reader.ts";
import type { Transport } from "../registry/transport.ts";
import type { DeliveryRecord, Store, StoreEvent, WebhookRecord } from "../store/index.ts";
import { KnownWebhooks } from "./known-webhooks.ts";
import { signedFields } from "./signature.ts";
import { deliveriesOf } from "./wanted.ts";

export interface WebhookSenderParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Sends to addresses that are allowed alone, and follows no redirect. */
  readonly transport: Pick<Transport, "fetch">;
  /** Waits before the second attempt and each later one, in milliseconds: after the last one a delivery is dead. */
  readonly backoffMs?: readonly number[];
}

/** Attempts over some five hours. */
const BACKOFF_MS = [10_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000, 10_800_000];
/** How long one attempt may take. */
const ATTEMPT_MS = 10_000;
/** Deliveries of one webhook that may wait; further events are lost to it, which the log says. */
const MAX_WAITING = 2000;
/** Dead deliveries of one webhook that are kept; older ones are removed, which the log says. */
const MAX_DEAD = 1000;
/** Attempts under way: of a team, and of all. Of one webhook there is one, so that a dead receiver has no more than that. */
const MAX_OF_TEAM = 4;
const MAX_AT_ONCE = 32;
/** The longest sleep: what another process has written is seen then. */
const LONGEST_SLEEP_MS = 60_000;
const RETRY_MS = 5000;
const MAX_ANSWER = 300;

/**
 * Brings events to webhooks. A reader of the store's events writes what is to be sent into the store, so a crash loses nothing; a delivery goes out once
 * or more, and leaves the store when its webhook has taken it. Deliveries of a webhook begin in the order of their events; one that failed comes later.
 */
export class WebhookSender {
  readonly known: KnownWebhooks;
  private readonly parts: WebhookSenderParts;
  private readonly reader: EventReader;
  private readonly stopping = new AbortController();
  /** Attempts under way, by webhook. */
  private readonly active = new Map<string, { readonly teamId: TeamId; readonly done: Promise<void> }>();
  private loop: Promise<void> | undefined;
  private sleeping = new AbortController();
  private isWoken = false;

  constructor(parts: WebhookSenderParts) {
    this.parts = parts;
    const { store, logger, clock } = parts;
    this.known = new KnownWebhooks(store);
    this.reader = new EventReader({ name: "webhooks", events: store.events, logger, clock, deliver: (events) => this.note(events) });
  }

  start(): void {
    this.reader.start();
    this.loop ??= this.run();
  }

  /** Attempts under way are broken off; they are made again after the next start. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.wake();
    await this.reader.stop();
    await Promise.all([this.loop, ...[...this.active.values()].map(({ done }) => done)]);
  }

  /** Looks at once for what is due. */
  wake(): void {
    this.isWoken = true;
    this.sleeping.abort();
  }

  private async note(events: readonly StoreEvent[]): Promise<void> {
    const { store, clock, logger } = this.parts;
    const deliveries = await deliveriesOf(events, this.known, store);
    if (deliveries.length === 0) return;
    const lost = await store.deliveries.add(deliveries, clock.now(), MAX_WAITING);
    for (const [webhook, all] of Map.groupBy(lost, (id) => id)) {
      logger.warn({ webhook, lost: all.length, most: MAX_WAITING }, "a webhook loses events: too many of its deliveries wait");
    }
    this.wake();
  }

  private async run(): Promise<void> {
    const { logger, clock } = this.parts;
    while (!this.stopping.signal.aborted) {
      this.isWoken = false;
      this.sleeping = new AbortController();
      const sleepMs = await this.begin().catch((error: unknown) => {
        logger.error({ err: error }, "webhooks: the store gave no deliveries; it will be tried again");
        return RETRY_MS;
      });
      if (this.isWoken) continue;
      await clock.sleep(sleepMs, AbortSignal.any([this.sleeping.signal, this.stopping.signal])).catch(() => {});
    }
  }

  /** Begins the attempts for which there is room. Returns how long nothing else will be due, in milliseconds. */
  private async begin(): Promise<number> {
    const { store, clock } = this.parts;
    const now = clock.now();
    for (const id of await store.deliveries.dueWebhooks(now)) {
      if (this.active.size >= MAX_AT_ONCE || this.stopping.signal.aborted) break;
      if (this.active.has(id)) continue;
      const webhook = await store.webhooks.find(id);
      if (!webhook) {
        await store.deliveries.forget(id);
        continue;
      }
      const ofTeam = [...this.active.values()].filter(({ teamId }) => teamId === webhook.teamId).length;
      if (ofTeam >= MAX_OF_TEAM) continue;
      const delivery = await store.deliveries.nextOf(id, now);
      if (!delivery) continue;
      const done = this.attempt(webhook, delivery).finally(() => {
        this.active.delete(id);
        this.wake();
      });
      this.active.set(id, { teamId: webhook.teamId, done });
    }
    // What is due already has no room: the end of an attempt wakes this.
    const due = await store.deliveries.nextDue(now);
    return due === undefined ? LONGEST_SLEEP_MS : Math.min(Math.max(due - clock.now(), 0), LONGEST_SLEEP_MS);
  }

  private async attempt(webhook: WebhookRecord, delivery: DeliveryRecord): Promise<void> {
    const { store, logger } = this.parts;
    try {
      const answer = webhook.enabled ? await this.send(webhook, delivery) : undefined;
      if (this.stopping.signal.aborted && answer !== undefined) return;
      if (answer === undefined) await store.deliveries.remove(delivery.id);
      else await this.failed(webhook, delivery, answer);
    } catch (error) {
      logger.error({ err: error, webhook: webhook.id }, "the end of a webhook's delivery could not be written; it will be sent again");
      await this.parts.clock.sleep(RETRY_MS, this.stopping.signal).catch(() => {});
    }
  }

  /** Sends a delivery. Returns undefined when the webhook has taken it, else why not. */
  private async send(webhook: WebhookRecord, { id, type, body }: DeliveryRecord): Promise<string | undefined> {
    const { store, clock, transport } = this.parts;
    const secret = await store.webhooks.secretOf(webhook.id);
    if (secret === undefined) return "the secret of the webhook was stored by another data directory: give it one again";
    const url = new URL(webhook.url);
    const timestamp = Math.floor(clock.now() / 1000);
    using limit = new TimeLimit(ATTEMPT_MS, clock);
    try {
      const signal = AbortSignal.any([this.stopping.signal, limit.signal]);
      const headers = signedFields({ webhookId: webhook.id, deliveryId: id, type, body, secret, timestamp });
      const response = await transport.fetch(url, { method: "POST", from: url.host, headers, body, signal });
      // Nothing of the answer is read.
      await response.body?.cancel().catch(() => {});
      if (response.ok) return undefined;
      const isRedirect = response.status >= 300 && response.status < 400;
      return `status ${response.status}${isRedirect ? ": redirects are not followed" : ""}`;
    } catch (error) {
      if (limit.isOver) return `no answer within ${ATTEMPT_MS / 1000} s`;
      return (isAppError(error) ? error.message : String(error)).slice(0, MAX_ANSWER);
    }
  }

  private async failed(webhook: WebhookRecord, { id, attempts, type }: DeliveryRecord, answer: string): Promise<void> {
    const { store, clock, logger, backoffMs = BACKOFF_MS } = this.parts;
    const waitMs = backoffMs[attempts];
    // Spread, so that what failed together does not come back together.
    const dueAt = waitMs === undefined ? undefined : clock.now() + Math.round(waitMs * (1 + Math.random() / 5));
    await store.deliveries.failed(id, answer, dueAt);
    if (dueAt !== undefined) return;
    logger.warn({ webhook: webhook.id, delivery: id, type, answer }, "a webhook's delivery is given up; it can be sent again");
    const removed = await store.deliveries.pruneDead(webhook.id, MAX_DEAD);
    if (removed > 0) logger.warn({ webhook: webhook.id, removed }, "the oldest deliveries of a webhook that were given up are removed");
  }
}
