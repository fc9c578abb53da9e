import type { routes, TemplateChange } from "@boxyard/spec/platform";
import { json, noContent } from "../sandboxes/present.ts";
import { namesOf } from "./present.ts";
import type { Handler, HandlerOf } from "./services.ts";

/** `PATCH /v2/templates/{id}`, and its older path. */
export const updateTemplate: Handler<TemplateChange> = async ({ body, caller, param }, { catalog }) => {
  const record = await catalog.update(caller.teamId, param("templateID"), body.public);
  return json(200, { names: namesOf(record) });
};

export const deleteTemplate: HandlerOf<typeof routes.deleteTemplate> = async ({ caller, param }, { catalog }) => {
  await catalog.remove(caller.teamId, param("templateID"));
  return noContent();
};

/** `GET /templates/aliases/{alias}`, with a tag too: 404 when the template has no such tag, 403 for a public one of others, which is taken anyway. */
export const getAlias: HandlerOf<typeof routes.getAlias> = ({ caller, param }, { templates }) => {
  const { record } = templates.findOwn(caller.teamId, param("alias"), "alias");
  return json(200, { templateID: record.id, public: record.isPublic });
};
