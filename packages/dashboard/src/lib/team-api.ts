import type * as wire from "@boxyard/spec/platform-types";
import { allPages, call, id, request } from "./api.ts";

/* Calls of the platform API for what a team has beside its sandboxes and templates. */

export const secrets = {
  list: (signal?: AbortSignal) => allPages<wire.Secret>("/secrets", signal),
  create: (body: wire.NewSecret) => call<wire.Secret>("POST", "/secrets", { body }),
  update: (secret: string, body: wire.SecretUpdate) => call<wire.Secret>("POST", `/secrets/${id(secret)}`, { body }),
  remove: (secret: string) => call<void>("DELETE", `/secrets/${id(secret)}`),
};

const hook = (webhook: string) => `/events/webhooks/${id(webhook)}`;

export const webhooks = {
  list: (signal?: AbortSignal) => call<wire.Webhook[]>("GET", "/events/webhooks", { signal }),
  get: (webhook: string, signal?: AbortSignal) => call<wire.Webhook>("GET", hook(webhook), { signal }),
  create: (body: wire.WebhookCreate) => call<wire.CreatedWebhook>("POST", "/events/webhooks", { body }),
  update: (webhook: string, body: wire.WebhookUpdate) => call<wire.Webhook>("PATCH", hook(webhook), { body }),
  remove: (webhook: string) => call<void>("DELETE", hook(webhook)),
  deliveries: (webhook: string, signal?: AbortSignal) =>
    call<wire.WebhookDelivery[]>("GET", `${hook(webhook)}/deliveries?limit=100`, { signal }),
  /** `deliveries`: their ids; all that were given up without it. Gives how many are sent again. */
  resend: async (webhook: string, deliveries?: readonly string[]) =>
    (await call<{ resent: number }>("POST", `${hook(webhook)}/deliveries/resend`, { body: deliveries ? { deliveries } : {} })).resent,
};

/** Which events are wanted: of one action or one kind of target, and of one target. */
export interface EventFilter {
  readonly action?: string;
  readonly targetID?: string;
}

const filterOf = ({ action, targetID }: EventFilter) =>
  `${action ? `&action=${id(action)}` : ""}${targetID ? `&targetID=${id(targetID)}` : ""}`;

export const events = {
  /** The newest, or the newest before a cursor; newest first. */
  newest: (filter: EventFilter, limit: number, before?: number, signal?: AbortSignal) =>
    call<wire.Events>("GET", `/events?order=desc&limit=${limit}${before === undefined ? "" : `&cursor=${before}`}${filterOf(filter)}`, {
      signal,
    }),
  /** A live stream of those after a cursor, as the server writes it (server-sent events). */
  stream: (filter: EventFilter, after: number, signal: AbortSignal) =>
    request("GET", `/events/stream?cursor=${after}${filterOf(filter)}`, { signal }),
};
