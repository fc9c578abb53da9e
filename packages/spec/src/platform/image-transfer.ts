import { z } from "zod";
import { named } from "../openapi.ts";
import { allowed } from "./access.ts";
import { body, errors, json, operation } from "./route-parts.ts";
import { RegistryAccess } from "./start-build.ts";
import { TemplatePath } from "./template.ts";

/* Templates out of the platform as OCI images, and what images say of those that begin with them. Operations of our own, so below a path that no client of others uses. */

const tags = ["Images"];

export const PushTemplate = z
  .object({
    reference: z.string().min(1, "must not be empty").max(512, "must have at most 512 characters").meta({
      description: "Where to: `HOST[:PORT]/NAME[:TAG]`",
    }),
    registry: RegistryAccess.meta({ description: "Used for this request and not stored" }).optional(),
  })
  .meta(named("TemplatePush"));
export type PushTemplate = z.infer<typeof PushTemplate>;

/** One line of a push's answer. The last one is `done` or `failed`; an answer without either was broken off. */
export const PushEvent = z
  .discriminatedUnion("type", [
    z.object({ type: z.literal("progress"), layersDone: z.int(), layers: z.int(), bytesDone: z.int(), bytes: z.int(), bytesSent: z.int() }),
    z.object({ type: z.literal("done"), reference: z.string(), digest: z.string() }),
    z.object({ type: z.literal("failed"), code: z.string(), reason: z.string(), message: z.string() }),
  ])
  .meta(named("TemplatePushEvent"));
export type PushEvent = z.infer<typeof PushEvent>;

export const TriggersOf = z
  .object({
    fromImage: z.string().min(1, "must not be empty").max(1024).optional(),
    fromTemplate: z.string().min(1, "must not be empty").max(512).optional(),
    fromImageRegistry: RegistryAccess.optional(),
  })
  .meta(named("TriggersRequest"));
export type TriggersOf = z.infer<typeof TriggersOf>;
export const Triggers = z.object({ onBuild: z.array(z.string()) }).meta(named("Triggers"));

export const imageRoutes = {
  getTriggers: operation({
    method: "post",
    path: "/boxyard/triggers",
    tags,
    ...allowed("templates"),
    summary: "ONBUILD instructions of an image or a template: what a Dockerfile that begins with it does first",
    request: { body: body(TriggersOf) },
    responses: {
      200: json(Triggers, "The instructions; an empty list also when the image cannot be read, which the build then reports"),
      ...errors(400),
    },
  }),
  pushTemplate: operation({
    method: "post",
    path: "/boxyard/templates/{templateID}/push",
    tags,
    ...allowed("templates"),
    summary: "Push a template, or one of its tags, to a registry as an OCI image",
    request: { params: TemplatePath, body: body(PushTemplate) },
    responses: {
      200: {
        content: { "application/x-ndjson": { schema: PushEvent } },
        description: "One line for each event; closing the connection ends the push",
      },
      ...errors(400, 404),
    },
  }),
  exportTemplate: operation({
    method: "get",
    path: "/boxyard/templates/{templateID}/archive",
    tags,
    ...allowed("templates"),
    summary: "A template, or one of its tags, as an OCI archive",
    request: { params: TemplatePath },
    responses: {
      200: {
        content: { "application/x-tar": { schema: z.string().meta({ format: "binary" }) } },
        description: "An OCI image layout in a tar",
        headers: { "X-Image-Digest": { schema: { type: "string" as const }, description: "Digest of the image's manifest" } },
      },
      ...errors(400, 404),
    },
  }),
} as const;
