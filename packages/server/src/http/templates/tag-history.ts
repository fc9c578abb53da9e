import { createHash } from "node:crypto";
import type { TemplateId } from "@boxyard/core";
import type { TagAssignment as Presented, routes } from "@boxyard/spec/platform";
import type { Page } from "../../page.ts";
import type { TagAssignment } from "../../store/index.ts";
import { pageQuery, tokenOf } from "../page-token.ts";
import { json } from "../responses.ts";
import type { HandlerOf } from "./services.ts";

/** `GET /templates/{id}/tags/groups`. */
export const listTagGroups: HandlerOf<typeof routes.listTagGroups> = async ({ query, caller, param }, { tagHistory }) => {
  const { search, sort, tagsCursor, tagsLimit, assignmentLimit } = query;
  const wanted = { search, sort, ...pageQuery(tagsCursor, { limit: tagsLimit, field: "tagsCursor", order: sort }) };
  const { record, groups } = await tagHistory.groups(caller.teamId, param("templateID"), wanted);
  const tags = groups.items.map(({ tag, assignments }) => ({
    tag,
    assignments: assignments.slice(0, assignmentLimit).map((assignment) => presentAssignment(record.id, assignment)),
    hasMore: assignments.length > assignmentLimit,
  }));
  return json(200, { tags, nextCursor: cursorOf(groups, sort) });
};

/** `GET /templates/{id}/tags/{tag}/assignments`. */
export const listTagAssignments: HandlerOf<typeof routes.listTagAssignments> = async ({ query, caller, param }, { tagHistory }) => {
  const wanted = { tag: param("tag"), ...pageQuery(query.cursor, { limit: query.limit, field: "cursor" }) };
  const { record, assignments } = await tagHistory.assignments(caller.teamId, param("templateID"), wanted);
  return json(200, { data: assignments.items.map((one) => presentAssignment(record.id, one)), nextCursor: cursorOf(assignments) });
};

const cursorOf = ({ next }: Page<unknown>, order?: string) => (next === undefined ? null : tokenOf(next, order));

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
