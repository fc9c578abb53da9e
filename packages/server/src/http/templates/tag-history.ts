import { createHash } from "node:crypto";
import { AppError, type TemplateId } from "@boxyard/core";
import type { TagAssignment as Presented, routes } from "@boxyard/spec/platform";
import type { TagAssignment } from "../../store/index.ts";
import { parseTag } from "../../templates/reference.ts";
import { pageAfter } from "../page.ts";
import { json } from "../sandboxes/present.ts";
import type { HandlerOf } from "./services.ts";

interface Group {
  readonly tag: string;
  /** Newest first. */
  readonly assignments: readonly TagAssignment[];
}

/** `GET /templates/{id}/tags/groups`. */
export const listTagGroups: HandlerOf<typeof routes.listTagGroups> = async ({ query, caller, param }, { templates, store }) => {
  const { record } = templates.findOwn(caller.teamId, param("templateID"));
  const byTag = Map.groupBy(await store.templates.listAssignments(record.id), ({ tag }) => tag);
  const groups = [...byTag].map(([tag, assignments]): Group => ({ tag, assignments }));
  const search = query.search?.trim().toLowerCase() ?? "";
  const wanted = groups.filter(({ tag }) => tag.includes(search)).sort(ORDERS[query.sort]);
  const { page, next } = pageAfter(wanted, ({ tag }) => tag, { token: query.tagsCursor, limit: query.tagsLimit, field: "tagsCursor" });
  const tags = page.map(({ tag, assignments }) => ({
    tag,
    assignments: assignments.slice(0, query.assignmentLimit).map((assignment) => presentAssignment(record.id, assignment)),
    hasMore: assignments.length > query.assignmentLimit,
  }));
  return json(200, { tags, nextCursor: next ?? null });
};

/** `GET /templates/{id}/tags/{tag}/assignments`. */
export const listTagAssignments: HandlerOf<typeof routes.listTagAssignments> = async ({ query, caller, param }, { templates, store }) => {
  const { record } = templates.findOwn(caller.teamId, param("templateID"));
  const wanted = parseTag(param("tag"), "tag");
  const all = (await store.templates.listAssignments(record.id)).filter(({ tag }) => tag === wanted);
  if (all.length === 0) {
    throw new AppError("not_found", `tag '${wanted}' does not exist for template '${record.name ?? record.id}'`, {
      reason: "tag_not_found",
    });
  }
  const presented = all.map((assignment) => presentAssignment(record.id, assignment));
  const { page, next } = pageAfter(presented, ({ assignmentId }) => assignmentId, {
    token: query.cursor,
    limit: query.limit,
    field: "cursor",
  });
  return json(200, { data: page, nextCursor: next ?? null });
};

const byName = (a: Group, b: Group) => (a.tag < b.tag ? -1 : 1);
const latest = ({ assignments }: Group) => assignments[0]?.assignedAt ?? 0;
const ORDERS = {
  latest_desc: (a: Group, b: Group) => latest(b) - latest(a) || byName(a, b),
  latest_asc: (a: Group, b: Group) => latest(a) - latest(b) || byName(a, b),
  name_asc: byName,
  name_desc: (a: Group, b: Group) => byName(b, a),
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
