import type { routes, TemplateChange } from "@boxyard/spec/platform";
import { json, noContent } from "../responses.ts";
import { namesOf, presentRequested } from "./present.ts";
import type { Handler, HandlerOf } from "./services.ts";

/** `PATCH /v2/templates/{id}`, and its older path. */
export const updateTemplate: Handler<TemplateChange> = async ({ body, caller, param }, { catalog }) => {
  const record = await catalog.update(caller.teamId, param("templateID"), body);
  return json(200, { names: namesOf(record) });
};

export const deleteTemplate: HandlerOf<typeof routes.deleteTemplate> = async ({ caller, param }, { catalog }) => {
  await catalog.remove(caller.teamId, param("templateID"));
  return noContent();
};

/** `GET /templates/aliases/{alias}`; the alias may have a tag. 404 when the template or its tag does not exist, 403 for a public template of another team. */
export const getAlias: HandlerOf<typeof routes.getAlias> = ({ caller, param }, { templates }) => {
  const { record } = templates.findOwn(caller.teamId, param("alias"), "alias");
  return json(200, { templateID: record.id, public: record.isPublic });
};

/** `POST /v3/templates` (docs/contract/templates.md, Create). */
export const createTemplate: HandlerOf<typeof routes.createTemplate> = async ({ body, caller }, { catalog }) => {
  const { template, build } = await catalog.request(caller.teamId, body);
  return json(202, presentRequested(template, build));
};
