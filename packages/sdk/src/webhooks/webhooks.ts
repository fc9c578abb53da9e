import type * as wire from "@boxyard/spec/platform-types";
import { ApiClient } from "../connection/api-client.ts";
import { type ConnectionOptions, resolveConfig } from "../connection/config.ts";
import { text, unchecked } from "../connection/unchecked.ts";
import { withQuery } from "../connection/with-query.ts";

export interface WebhookSettings {
  readonly name?: string | undefined;
  /** `https://…`; other addresses only where the operator of the server has listed them. */
  readonly url?: string | undefined;
  /** Actions (`build.ready`), kinds of targets (`build`), lifecycle types (`sandbox.lifecycle.created`), or `*`. */
  readonly events?: readonly string[] | undefined;
  readonly enabled?: boolean | undefined;
  /** Signs each delivery; 8 to 256 characters. */
  readonly signatureSecret?: string | undefined;
}

export interface WebhookCreateOptions extends ConnectionOptions {
  /** Default: `*`, all events of your team. */
  readonly events?: readonly string[] | undefined;
  /** Default: true. */
  readonly enabled?: boolean | undefined;
  /** Signs each delivery; 8 to 256 characters. Default: the server makes one. */
  readonly signatureSecret?: string | undefined;
}

export interface WebhookInfo {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly enabled: boolean;
  readonly createdAt: Date;
  /** Deliveries that are to be sent, or sent again. */
  readonly waiting: number;
  /** Deliveries that were given up. */
  readonly dead: number;
}

export interface NewWebhook extends WebhookInfo {
  /** The secret, if the server has made it. It cannot be shown again. */
  readonly signatureSecret: string | undefined;
}

export interface WebhookDelivery {
  readonly id: string;
  /** Action or lifecycle type of the event. */
  readonly type: string;
  /** `waiting`: it will be sent. `dead`: it was given up. */
  readonly state: "waiting" | "dead";
  /** Attempts that have failed. */
  readonly attempts: number;
  readonly createdAt: Date;
  /** Why the last attempt failed. */
  readonly lastAnswer: string | undefined;
}

const NO_WEBHOOK = "webhook_not_found";
const pathOf = (id: string, rest = "") => `/events/webhooks/${encodeURIComponent(id)}${rest}`;

/** The webhooks of your team: what happens is sent to your own servers. To use them, a key needs the scope `admin`. */
export class Webhooks {
  private constructor() {}

  /** Creates a webhook. */
  static create(name: string, url: string, opts: WebhookCreateOptions = {}): Promise<NewWebhook> {
    const { events = ["*"], enabled, signatureSecret } = opts;
    const optional = { ...(enabled !== undefined && { enabled }), ...(signatureSecret !== undefined && { signatureSecret }) };
    return new ApiClient(resolveConfig(opts)).send({
      method: "POST",
      path: "/events/webhooks",
      what: `create webhook ${name}`,
      body: { name, url, events: [...events], ...optional } satisfies wire.WebhookCreate,
      read: async (response) => {
        const json: unknown = await response.json();
        return { ...webhookFromJson(json), signatureSecret: text(unchecked<wire.CreatedWebhook>(json).signatureSecret) };
      },
    });
  }

  /** Lists all webhooks, oldest first. */
  static list(opts: ConnectionOptions = {}): Promise<WebhookInfo[]> {
    return new ApiClient(resolveConfig(opts)).send({
      method: "GET",
      path: "/events/webhooks",
      what: "list webhooks",
      read: async (response) => ((await response.json()) as unknown[]).map(webhookFromJson),
    });
  }

  /** Changes what is named. Throws a `NotFoundError`. */
  static update(id: string, settings: WebhookSettings, opts: ConnectionOptions = {}): Promise<WebhookInfo> {
    const { events, ...rest } = settings;
    const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
    return new ApiClient(resolveConfig(opts)).send({
      method: "PATCH",
      path: pathOf(id),
      what: `change webhook ${id}`,
      notFoundReason: NO_WEBHOOK,
      body: { ...given, ...(events && { events: [...events] }) } satisfies wire.WebhookUpdate,
      repeatable: true,
      read: async (response) => webhookFromJson(await response.json()),
    });
  }

  /** Deletes a webhook with its deliveries. False if there is none. */
  static delete(id: string, opts: ConnectionOptions = {}): Promise<boolean> {
    return new ApiClient(resolveConfig(opts)).send({
      method: "DELETE",
      path: pathOf(id),
      what: `delete webhook ${id}`,
      accept: [404],
      read: async (response, mayBeDone) => response.status !== 404 || mayBeDone,
    });
  }

  /** Up to 100 deliveries that wait or were given up, oldest first. Throws a `NotFoundError`. */
  static deliveries(
    id: string,
    opts: ConnectionOptions & { readonly state?: "waiting" | "dead" | undefined } = {},
  ): Promise<WebhookDelivery[]> {
    const query = new URLSearchParams(opts.state === undefined ? {} : { state: opts.state });
    return new ApiClient(resolveConfig(opts)).send({
      method: "GET",
      path: pathOf(id, `/deliveries${withQuery(query)}`),
      what: `list deliveries of webhook ${id}`,
      notFoundReason: NO_WEBHOOK,
      read: async (response) => ((await response.json()) as unknown[]).map(deliveryFromJson),
    });
  }

  /** Sends deliveries again that were given up: those with these ids, or all. Returns how many. Throws a `NotFoundError`. */
  static resend(id: string, opts: ConnectionOptions & { readonly deliveries?: readonly string[] | undefined } = {}): Promise<number> {
    const { deliveries } = opts;
    return new ApiClient(resolveConfig(opts)).send({
      method: "POST",
      path: pathOf(id, "/deliveries/resend"),
      what: `send deliveries of webhook ${id} again`,
      notFoundReason: NO_WEBHOOK,
      body: { ...(deliveries && { deliveries: [...deliveries] }) } satisfies wire.WebhookResend,
      repeatable: true,
      read: async (response) => Number(((await response.json()) as { resent?: unknown }).resent),
    });
  }
}

function webhookFromJson(value: unknown): WebhookInfo {
  const json = unchecked<wire.Webhook>(value);
  return {
    id: String(json.id),
    name: String(json.name),
    url: String(json.url),
    events: Array.isArray(json.events) ? json.events.map(String) : [],
    enabled: json.enabled === true,
    createdAt: new Date(String(json.createdAt)),
    waiting: Number(json.waiting ?? 0),
    dead: Number(json.dead ?? 0),
  };
}

function deliveryFromJson(value: unknown): WebhookDelivery {
  const json = unchecked<wire.WebhookDelivery>(value);
  return {
    id: String(json.id),
    type: String(json.type),
    state: json.state === "dead" ? "dead" : "waiting",
    attempts: Number(json.attempts ?? 0),
    createdAt: new Date(String(json.createdAt)),
    lastAnswer: text(json.lastAnswer),
  };
}
