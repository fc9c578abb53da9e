import { z } from "zod";
import { named } from "../openapi.ts";
import { allowed } from "./access.ts";
import { BuildPath } from "./build-info.ts";
import { body, errors, json, maxBody, none, operation } from "./route-parts.ts";
import { ListedTemplate, MAX_NAME_LENGTH, TemplatePath } from "./template.ts";

const tags = ["Templates"];
const MAX_DOCKERFILE = 1 << 20;
const MAX_COMMAND = 1 << 17;
const MAX_CPUS = 32;

/** The published service takes these sizes on its older routes; `POST /v3/templates` takes odd ones too. */
const sizes = {
  cpuCount: z
    .int("must be a whole number")
    .min(1, "CPU count must be at least 1")
    .max(MAX_CPUS, `CPU count must be at most ${MAX_CPUS}`)
    .refine((count) => count === 1 || count % 2 === 0, "CPU count must be 1 or an even number")
    .optional(),
  memoryMB: z
    .int("must be a whole number")
    .min(128, "Memory must be at least 128 MiB")
    .max(2 ** 31 - 1, "is too large")
    .refine((size) => size % 2 === 0, "Memory must be divisible by 2")
    .optional(),
};
const name = z.string().max(MAX_NAME_LENGTH, `must have at most ${MAX_NAME_LENGTH} characters`);
const teamID = z.string().max(256, "is too long").optional().meta({ description: "Not used: the API key says whose templates are meant" });
const notUsed = { description: "Not used: the start of the build says it" };

const LegacyTemplateRequest = z
  .object({
    alias: name.optional(),
    dockerfile: z.string().max(MAX_DOCKERFILE, "is too long").meta(notUsed),
    teamID,
    startCmd: z.string().max(MAX_COMMAND).optional().meta(notUsed),
    readyCmd: z.string().max(MAX_COMMAND).optional().meta(notUsed),
    ...sizes,
  })
  .meta(named("TemplateBuildRequest"));
const LegacyTemplateRequestV2 = z.object({ alias: name, teamID, ...sizes }).meta(named("TemplateBuildRequestV2"));
const LegacyTemplate = ListedTemplate.meta(named("TemplateLegacy"));
export type LegacyTemplate = z.infer<typeof LegacyTemplate>;

/** Older routes of templates, which clients of before `POST /v3/templates` call (docs/contract/templates.md, Older routes). */
export const legacyTemplateRoutes = {
  createTemplateV1: operation({
    method: "post",
    path: "/templates",
    tags,
    ...allowed("templates"),
    deprecated: true,
    summary: "Create template (v1)",
    ...maxBody(2 * MAX_DOCKERFILE),
    request: { body: body(LegacyTemplateRequest) },
    responses: { 202: json(LegacyTemplate, "The build was requested"), ...errors(400, 403, 409, 413) },
  }),
  rebuildTemplateV1: operation({
    method: "post",
    path: "/templates/{templateID}",
    tags,
    ...allowed("templates"),
    deprecated: true,
    summary: "Request another build of a template (v1)",
    ...maxBody(2 * MAX_DOCKERFILE),
    request: { params: TemplatePath, body: body(LegacyTemplateRequest) },
    responses: { 202: json(LegacyTemplate, "The build was requested"), ...errors(400, 403, 404, 409, 413) },
  }),
  createTemplateV2: operation({
    method: "post",
    path: "/v2/templates",
    tags,
    ...allowed("templates"),
    deprecated: true,
    summary: "Create template (v2)",
    request: { body: body(LegacyTemplateRequestV2) },
    responses: { 202: json(LegacyTemplate, "The build was requested"), ...errors(400, 403, 409) },
  }),
  startBuildV1: operation({
    method: "post",
    path: "/templates/{templateID}/builds/{buildID}",
    tags,
    ...allowed("templates"),
    deprecated: true,
    summary: "Start a build of an image that was pushed with docker (v1): refused, because this server takes no pushed images",
    request: { params: BuildPath },
    responses: { 202: none("Not answered by this server"), ...errors(400, 403, 404, 501) },
  }),
} as const;
