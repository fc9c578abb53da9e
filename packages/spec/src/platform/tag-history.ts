import { z } from "zod";
import { named } from "../openapi.ts";
import { allowed } from "./access.ts";
import { errors, json, operation } from "./route-parts.ts";
import { TemplatePath } from "./template.ts";

const tags = ["Tags"];
const time = z.iso.datetime();
const cursor = z.string().max(512, "is too long").optional();
const countTo = (most: number, otherwise: number) => {
  const words = `must be from 1 to ${most}`;
  return z.coerce.number(words).int(words).min(1, words).max(most, words).default(otherwise);
};

export const TagAssignment = z
  .object({ assignmentId: z.uuid(), buildId: z.string(), assignedAt: time, buildCreatedAt: time, buildFinishedAt: time.nullable() })
  .meta(named("TagAssignment"));
export type TagAssignment = z.infer<typeof TagAssignment>;

const nextCursor = z.string().nullable().meta({ description: "Null on the last page" });
const TagGroups = z
  .object({ tags: z.array(z.object({ tag: z.string(), assignments: z.array(TagAssignment), hasMore: z.boolean() })), nextCursor })
  .meta(named("TemplateTagGroups"));
const TagAssignments = z.object({ data: z.array(TagAssignment), nextCursor }).meta(named("TemplateTagAssignments"));

const TagGroupsQuery = z.object({
  assignmentLimit: countTo(100, 6),
  tagsLimit: countTo(100, 25),
  tagsCursor: cursor,
  search: z.string().max(128, "is too long").optional().meta({ description: "Lists only tags that contain this text" }),
  sort: z.enum(["latest_desc", "latest_asc", "name_asc", "name_desc"]).default("latest_desc"),
});
const TagPath = TemplatePath.extend({ tag: z.string().meta({ param: { name: "tag", in: "path" } }) });

/** What tags point to and have pointed to. Paths, statuses and shapes: docs/contract/templates.md. */
export const tagHistoryRoutes = {
  listTagGroups: operation({
    method: "get",
    path: "/templates/{templateID}/tags/groups",
    tags,
    ...allowed("read"),
    summary: "Tags, each with its newest assignments",
    request: { params: TemplatePath, query: TagGroupsQuery },
    responses: { 200: json(TagGroups, "One page"), ...errors(400, 403, 404) },
  }),
  listTagAssignments: operation({
    method: "get",
    path: "/templates/{templateID}/tags/{tag}/assignments",
    tags,
    ...allowed("read"),
    summary: "What a tag points to and has pointed to",
    request: { params: TagPath, query: z.object({ cursor, limit: countTo(100, 50) }) },
    responses: { 200: json(TagAssignments, "One page, newest first"), ...errors(400, 403, 404) },
  }),
} as const;
