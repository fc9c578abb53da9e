import type { routes } from "@boxyard/spec/platform";
import type { TemplateVersion } from "../../store/index.ts";
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

export const listTags: HandlerOf<typeof routes.listTags> = ({ caller, param }, { tagHistory }) =>
  json(200, tagHistory.current(caller.teamId, param("templateID")).map(presentTag));

export const tagExists: HandlerOf<typeof routes.tagExists> = ({ query, caller, param }, { tagHistory }) => {
  const { tag, exists } = tagHistory.lookUp(caller.teamId, param("templateID"), query.tag);
  return json(200, { exists, normalizedTag: tag });
};

export const countTags: HandlerOf<typeof routes.countTags> = ({ caller, param }, { tagHistory }) =>
  json(200, { total: tagHistory.current(caller.teamId, param("templateID")).length });

const presentTag = ({ tag, buildId, assignedAt }: TemplateVersion) => ({
  tag,
  buildID: buildId,
  createdAt: new Date(assignedAt).toISOString(),
});
