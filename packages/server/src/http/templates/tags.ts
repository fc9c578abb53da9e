import type { routes } from "@boxyard/spec/platform";
import { parseTag } from "../../templates/reference.ts";
import { json, noContent } from "../responses.ts";
import type { HandlerOf } from "./services.ts";

export const assignTags: HandlerOf<typeof routes.assignTags> = async ({ body, caller }, { catalog }) => {
  const { tags, buildId } = await catalog.assignTags(caller.teamId, body.target, body.tags);
  return json(201, { tags, buildID: buildId });
};

export const removeTags: HandlerOf<typeof routes.removeTags> = async ({ body, caller }, { catalog }) => {
  await catalog.removeTags(caller.teamId, body.name, body.tags);
  return noContent();
};

export const listTags: HandlerOf<typeof routes.listTags> = ({ caller, param }, { templates }) => {
  const { versions } = templates.findOwn(caller.teamId, param("templateID"));
  const newestFirst = [...versions].sort((a, b) => b.assignedAt - a.assignedAt || (a.tag < b.tag ? -1 : 1));
  return json(
    200,
    newestFirst.map(({ tag, buildId, assignedAt }) => ({ tag, buildID: buildId, createdAt: new Date(assignedAt).toISOString() })),
  );
};

export const tagExists: HandlerOf<typeof routes.tagExists> = ({ query, caller, param }, { templates }) => {
  const { versions } = templates.findOwn(caller.teamId, param("templateID"));
  const tag = parseTag(query.tag, "tag");
  return json(200, { exists: versions.some((version) => version.tag === tag), normalizedTag: tag });
};

export const countTags: HandlerOf<typeof routes.countTags> = ({ caller, param }, { templates }) =>
  json(200, { total: templates.findOwn(caller.teamId, param("templateID")).versions.length });
