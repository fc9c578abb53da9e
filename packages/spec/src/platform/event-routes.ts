import { z } from "zod";
import { named } from "../openapi.ts";
import { allowed } from "./access.ts";
import { errors, json, operation, pageSize } from "./route-parts.ts";

const tags = ["Events"];

const Detail = z.record(z.string(), z.unknown());

export const PlatformEvent = z
  .object({
    id: z.int().meta({ description: "Cursor of the event: grows with each event of the server" }),
    timestamp: z.iso.datetime(),
    action: z.string().meta({ description: "The target and what has become of it: `sandbox.running`, `build.error`, `key.revoked`" }),
    targetID: z.string(),
    actor: z.object({ kind: z.enum(["key", "admin", "server"]), keyID: z.string().optional(), address: z.string().optional() }),
    before: Detail.optional().meta({ description: "The old values of what has changed, where they are known" }),
    after: Detail.optional().meta({ description: "The new values" }),
  })
  .meta(named("Event"));
export type PlatformEvent = z.infer<typeof PlatformEvent>;

const Events = z
  .object({ events: z.array(PlatformEvent), cursor: z.int().meta({ description: "For the next page" }) })
  .meta(named("Events"));

const cursor = z.coerce.number("must be a number").int("must be a whole number").min(0, "must not be negative");
const filters = {
  action: z
    .string()
    .regex(/^[a-z]+(\.[a-zA-Z]+)?$/, "must be an action such as sandbox.running, or a target such as sandbox")
    .optional()
    .meta({ description: "Only this action, or only actions of this target" }),
  targetID: z.string().max(200, "must have at most 200 characters").optional(),
};
const ListQuery = z.object({
  cursor: cursor.optional().meta({
    description: "With `asc`, events after it, from the oldest by default; with `desc`, events before it, from the newest by default",
  }),
  order: z.enum(["asc", "desc"]).default("asc").meta({ description: "`asc`: oldest first; `desc`: newest first" }),
  limit: pageSize,
  ...filters,
});
const StreamQuery = z.object({ cursor: cursor.optional(), ...filters });

/** What has changed, by whom (docs/contract/platform.md, Events). */
export const eventRoutes = {
  listEvents: operation({
    method: "get",
    path: "/events",
    tags,
    ...allowed("read"),
    summary: "Changes of the team's sandboxes, templates, builds, tags, keys, volumes, secrets, webhooks and recordings",
    request: { query: ListQuery },
    responses: { 200: json(Events, "One page of events; none: there are no more"), ...errors(400) },
  }),
  streamEvents: operation({
    method: "get",
    path: "/events/stream",
    tags,
    ...allowed("read"),
    summary: "The same as they happen (server-sent events); `Last-Event-ID` or `cursor` goes on after an event",
    request: { query: StreamQuery },
    responses: {
      200: {
        description: "Server-sent events, each with the cursor as its id and an `Event` as its data",
        content: { "text/event-stream": { schema: z.string() } },
      },
      ...errors(400),
    },
  }),
} as const;
