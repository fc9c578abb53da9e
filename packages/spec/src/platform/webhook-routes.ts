import { z } from "zod";
import { named } from "../openapi.ts";
import { allowed } from "./access.ts";
import { SandboxPath } from "./common.ts";
import { body, errors, json, none, operation, pageSize, pathParam } from "./route-parts.ts";

const tags = ["Webhooks"];

export const LIFECYCLE_TYPES = [
  "sandbox.lifecycle.created",
  "sandbox.lifecycle.updated",
  "sandbox.lifecycle.paused",
  "sandbox.lifecycle.resumed",
  "sandbox.lifecycle.checkpointed",
  "sandbox.lifecycle.killed",
] as const;
export type LifecycleType = (typeof LIFECYCLE_TYPES)[number];

export const LifecycleEvent = z
  .object({
    version: z.literal("v2"),
    id: z.string(),
    type: z.enum(LIFECYCLE_TYPES),
    timestamp: z.iso.datetime(),
    event_category: z.literal("lifecycle"),
    event_label: z.string(),
    event_data: z.object({
      sandbox_metadata: z.record(z.string(), z.string()).optional(),
      execution: z
        .object({ started_at: z.iso.datetime(), vcpu_count: z.number(), memory_mb: z.int(), execution_time: z.int() })
        .optional()
        .meta({ description: "Of a sandbox that was paused or has ended; `execution_time` in milliseconds" }),
      set_timeout: z.iso.datetime().optional().meta({ description: "The new end" }),
    }),
    sandbox_id: z.string(),
    sandbox_execution_id: z.string(),
    sandbox_template_id: z.string(),
    sandbox_build_id: z.string(),
    sandbox_team_id: z.string(),
  })
  .meta(named("SandboxLifecycleEvent"));
export type LifecycleEvent = z.infer<typeof LifecycleEvent>;

const MAX_OFFSET = 10_000;
const types = z
  .string()
  .transform((text) => text.split(",").filter((type) => type !== ""))
  .pipe(z.array(z.enum(LIFECYCLE_TYPES)))
  .optional()
  .meta({ description: "Only these, with commas between" });
const LifecycleQuery = z.object({
  offset: z.coerce.number().int().min(0, "must not be negative").max(MAX_OFFSET, `must be at most ${MAX_OFFSET}`).default(0),
  limit: z.coerce.number().int().min(1, "must be from 1 to 100").max(100, "must be from 1 to 100").default(10),
  orderAsc: z.enum(["true", "false"]).default("false"),
  types,
});

const WebhookName = z.string().trim().min(1, "must not be empty").max(100, "must have at most 100 characters");
const WebhookUrl = z.string().max(2048, "must have at most 2048 characters");
const EventName = z
  .string()
  .regex(/^(\*|[a-z]+(\.[a-zA-Z]+){0,2})$/, "must be an action such as build.ready, a target such as build, a lifecycle type, or *");
const EventNames = z.array(EventName).min(1, "must have at least one entry").max(50, "must have at most 50 entries");
const SignatureSecret = z.string().min(8, "must have at least 8 characters").max(256, "must have at most 256 characters");

const NewWebhook = z
  .object({
    name: WebhookName,
    url: WebhookUrl.meta({ description: "`https://…`; other addresses only where the operator has listed them" }),
    enabled: z.boolean().default(true),
    events: EventNames.meta({ description: "Lifecycle types of sandboxes, actions and targets of `GET /events`, or `*` for all of these" }),
    signatureSecret: SignatureSecret.optional().meta({ description: "Signs each delivery; one is made, and shown once, without it" }),
  })
  .meta(named("WebhookCreate"));
export type NewWebhook = z.infer<typeof NewWebhook>;
const WebhookChange = z
  .object({
    name: WebhookName.optional(),
    url: WebhookUrl.optional(),
    enabled: z.boolean().optional(),
    events: EventNames.optional(),
    signatureSecret: SignatureSecret.optional(),
  })
  .meta(named("WebhookUpdate"));
export type WebhookChange = z.infer<typeof WebhookChange>;

const fields = {
  id: z.string(),
  teamId: z.string(),
  name: z.string(),
  createdAt: z.iso.datetime(),
  enabled: z.boolean(),
  url: z.string(),
  events: z.array(z.string()),
};
export const Webhook = z
  .object({
    ...fields,
    waiting: z.int().meta({ description: "Deliveries that are to be sent, or sent again" }),
    dead: z.int().meta({ description: "Deliveries that were given up" }),
  })
  .meta(named("Webhook"));
export type Webhook = z.infer<typeof Webhook>;
const CreatedWebhook = z
  .object({
    ...fields,
    signatureSecret: z.string().optional().meta({ description: "The secret that was made. No later answer shows it" }),
  })
  .meta(named("CreatedWebhook"));

export const WebhookDelivery = z
  .object({
    id: z.string(),
    type: z.string(),
    state: z.enum(["waiting", "dead"]),
    attempts: z.int(),
    createdAt: z.iso.datetime(),
    nextAttemptAt: z.iso.datetime().optional(),
    lastAnswer: z.string().optional().meta({ description: "Why the last attempt failed" }),
  })
  .meta(named("WebhookDelivery"));
export type WebhookDelivery = z.infer<typeof WebhookDelivery>;

const params = z.object({ webhookID: pathParam("webhookID") });
const DeliveryQuery = z.object({ state: z.enum(["waiting", "dead"]).optional(), limit: pageSize });
const Resend = z
  .object({ deliveries: z.array(z.string().max(100)).max(1000, "must hold at most 1000 entries").optional() })
  .meta(named("WebhookResend"));
const one = `/events/webhooks/{webhookID}`;

/** Events of sandboxes' lives, and webhooks that bring events to a team's own servers (docs/contract/platform.md, Webhooks). */
export const webhookRoutes = {
  listLifecycleEvents: operation({
    method: "get",
    path: "/events/sandboxes",
    tags,
    ...allowed("read"),
    summary: "Events of the lives of the team's sandboxes",
    request: { query: LifecycleQuery },
    responses: { 200: json(z.array(LifecycleEvent), "Newest first, or oldest with orderAsc"), ...errors(400) },
  }),
  listLifecycleEventsOf: operation({
    method: "get",
    path: "/events/sandboxes/{sandboxID}",
    tags,
    ...allowed("read"),
    summary: "Events of the life of one sandbox; also of one that has ended, for seven days",
    request: { params: SandboxPath, query: LifecycleQuery },
    responses: { 200: json(z.array(LifecycleEvent), "Newest first, or oldest with orderAsc"), ...errors(400, 404) },
  }),
  createWebhook: operation({
    method: "post",
    path: "/events/webhooks",
    tags,
    ...allowed("admin"),
    summary: "Create a webhook",
    request: { body: body(NewWebhook) },
    responses: { 201: json(CreatedWebhook, "Events from now on are sent to it"), ...errors(400) },
  }),
  listWebhooks: operation({
    method: "get",
    path: "/events/webhooks",
    tags,
    ...allowed("admin"),
    summary: "List webhooks",
    responses: { 200: json(z.array(Webhook), "Oldest first"), ...errors() },
  }),
  getWebhook: operation({
    method: "get",
    path: one,
    tags,
    ...allowed("admin"),
    summary: "Get a webhook",
    request: { params },
    responses: { 200: json(Webhook, "The webhook"), ...errors(404) },
  }),
  updateWebhook: operation({
    method: "patch",
    path: one,
    tags,
    ...allowed("admin"),
    summary: "Change a webhook; what is not named stays",
    request: { params, body: body(WebhookChange) },
    responses: { 200: json(Webhook, "The webhook"), ...errors(400, 404) },
  }),
  deleteWebhook: operation({
    method: "delete",
    path: one,
    tags,
    ...allowed("admin"),
    summary: "Delete a webhook with its deliveries",
    request: { params },
    responses: { 200: none("Deleted"), ...errors(404) },
  }),
  listWebhookDeliveries: operation({
    method: "get",
    path: `${one}/deliveries`,
    tags,
    ...allowed("admin"),
    summary: "Deliveries of a webhook that wait, or were given up",
    request: { params, query: DeliveryQuery },
    responses: { 200: json(z.array(WebhookDelivery), "Oldest first"), ...errors(400, 404) },
  }),
  resendWebhookDeliveries: operation({
    method: "post",
    path: `${one}/deliveries/resend`,
    tags,
    ...allowed("admin"),
    summary: "Send deliveries again that were given up: those named, or all",
    request: { params, body: body(Resend, false) },
    responses: { 200: json(z.object({ resent: z.int() }), "How many will be sent again"), ...errors(400, 404) },
  }),
} as const;
