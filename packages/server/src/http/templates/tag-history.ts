import { createHash } from "node:crypto";
import type { TemplateId } from "@boxyard/core";
import type { TagAssignment as Presented, routes } from "@boxyard/spec/platform";
import type { TagAssignment } from "../../store/index.ts";
import { pageAfter } from "../page.ts";
import { json } from "../responses.ts";
import type { HandlerOf } from "./services.ts";

/** `GET /templates/{id}/tags/groups`. */
export const listTagGroups: HandlerOf<typeof routes.listTagGroups> = async ({ query, caller, param }, { tagHistory }) => {
  const { search, sort, tagsCursor, tagsLimit, assignmentLimit } = query;
  const { record, groups } = await tagHistory.groups(caller.teamId, param("templateID"), { search, sort });
  const { page, next } = pageAfter(groups, ({ tag }) => tag, { token: tagsCursor, limit: tagsLimit, field: "tagsCursor" });
  const tags = page.map(({ tag, assignments }) => ({
    tag,
    assignments: assignments.slice(0, assignmentLimit).map((assignment) => presentAssignment(record.id, assignment)),
    hasMore: assignments.length > assignmentLimit,
  }));
  return json(200, { tags, nextCursor: next ?? null });
};

/** `GET /templates/{id}/tags/{tag}/assignments`. */
export const listTagAssignments: HandlerOf<typeof routes.listTagAssignments> = async ({ query, caller, param }, { tagHistory }) => {
  const { cursor: token, limit } = query;
  const { record, assignments } = await tagHistory.assignments(caller.teamId, param("templateID"), param("tag"));
  const presented = assignments.map((assignment) => presentAssignment(record.id, assignment));
  const { page, next } = pageAfter(presented, ({ assignmentId }) => assignmentId, { token, limit, field: "cursor" });
  return json(200, { data: page, nextCursor: next ?? null });
};

const iso = (at: number) => new Date(at).toISOString();

function presentAssignment(
  templateId: TemplateId,
  { tag, buildId, assignedAt, buildCreatedAt, buildFinishedAt }: TagAssignment,
): Presented {
  return {
    assignmentId: idOfAssignment([templateId, tag, buildId, assignedAt]),
    buildId,
    assignedAt: iso(assignedAt),
    buildCreatedAt: iso(buildCreatedAt),
    buildFinishedAt: buildFinishedAt === undefined ? null : iso(buildFinishedAt),
  };
}

/** A UUID (version 8, RFC 9562) made of a hash of `facts`: the same assignment always has the same id. */
function idOfAssignment(facts: readonly unknown[]): string {
  const hex = createHash("sha256").update(JSON.stringify(facts)).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
