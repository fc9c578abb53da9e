import { parseSandboxId } from "@boxyard/core";
import { routes, type Webhook, type WebhookDelivery } from "@boxyard/spec/platform";
import type { Credentials } from "../../keys/credentials.ts";
import type { DeliveryRecord, WebhookRecord } from "../../store/index.ts";
import type { WebhookState, Webhooks } from "../../webhooks/webhooks.ts";
import { json } from "../responses.ts";
import { type Api, mount, type QueryOf, type RouteHandler } from "../route.ts";

/** What the handlers of webhooks use. */
export interface WebhookServices {
  readonly webhooks: Webhooks;
  readonly credentials: Credentials;
}

type HandlerOf<R> = RouteHandler<WebhookServices, R>;

const listLifecycleEvents: HandlerOf<typeof routes.listLifecycleEvents> = async ({ query, caller }, { webhooks }) =>
  json(200, await webhooks.lifecycle(caller.teamId, undefined, queryOf(query)));

const listLifecycleEventsOf: HandlerOf<typeof routes.listLifecycleEventsOf> = async ({ query, caller, param }, { webhooks }) =>
  json(200, await webhooks.lifecycle(caller.teamId, parseSandboxId(param("sandboxID")), queryOf(query)));

const queryOf = ({ orderAsc, ...query }: QueryOf<typeof routes.listLifecycleEvents>) => ({ ...query, oldestFirst: orderAsc === "true" });

const createWebhook: HandlerOf<typeof routes.createWebhook> = async ({ body, caller }, { webhooks }) => {
  const { webhook, madeSecret } = await webhooks.create(caller.teamId, body);
  return json(201, { ...plain(webhook), ...(madeSecret !== undefined && { signatureSecret: madeSecret }) });
};

const listWebhooks: HandlerOf<typeof routes.listWebhooks> = async ({ caller }, { webhooks }) =>
  json(200, (await webhooks.list(caller.teamId)).map(present));

const getWebhook: HandlerOf<typeof routes.getWebhook> = async ({ caller, param }, { webhooks }) =>
  json(200, present(await webhooks.get(caller.teamId, param("webhookID"))));

const updateWebhook: HandlerOf<typeof routes.updateWebhook> = async ({ body, caller, param }, { webhooks }) =>
  json(200, present(await webhooks.update(caller.teamId, param("webhookID"), body)));

/** The contract's clients expect 200 here. */
const deleteWebhook: HandlerOf<typeof routes.deleteWebhook> = async ({ caller, param }, { webhooks }) => {
  await webhooks.remove(caller.teamId, param("webhookID"));
  return new Response("", { status: 200, headers: { "Content-Length": "0" } });
};

const listDeliveries: HandlerOf<typeof routes.listWebhookDeliveries> = async ({ query, caller, param }, { webhooks }) =>
  json(200, (await webhooks.deliveries(caller.teamId, param("webhookID"), query.state, query.limit)).map(presentDelivery));

const resend: HandlerOf<typeof routes.resendWebhookDeliveries> = async ({ body, caller, param }, { webhooks }) =>
  json(200, { resent: await webhooks.resend(caller.teamId, param("webhookID"), body.deliveries) });

const plain = ({ id, teamId, name, createdAt, enabled, url, events }: WebhookRecord) => ({
  ...{ id, teamId, name, createdAt: new Date(createdAt).toISOString(), enabled, url, events: [...events] },
});
const present = ({ waiting, dead, ...webhook }: WebhookState): Webhook => ({ ...plain(webhook), waiting, dead });

const presentDelivery = ({ id, type, state, attempts, dueAt, createdAt, answer }: DeliveryRecord): WebhookDelivery => ({
  ...{ id, type, state, attempts, createdAt: new Date(createdAt).toISOString() },
  ...(state === "waiting" && { nextAttemptAt: new Date(dueAt).toISOString() }),
  ...(answer !== undefined && { lastAnswer: answer }),
});

export function mountWebhooks(app: Api, services: WebhookServices): void {
  mount(app, services, routes.listLifecycleEvents, listLifecycleEvents);
  mount(app, services, routes.listLifecycleEventsOf, listLifecycleEventsOf);
  mount(app, services, routes.createWebhook, createWebhook);
  mount(app, services, routes.listWebhooks, listWebhooks);
  mount(app, services, routes.getWebhook, getWebhook);
  mount(app, services, routes.updateWebhook, updateWebhook);
  mount(app, services, routes.deleteWebhook, deleteWebhook);
  mount(app, services, routes.listWebhookDeliveries, listDeliveries);
  mount(app, services, routes.resendWebhookDeliveries, resend);
}
