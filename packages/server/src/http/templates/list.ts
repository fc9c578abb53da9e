import type { routes } from "@boxyard/spec/platform";
import type { Page } from "../../page.ts";
import { pageQuery, tokenOf } from "../page-token.ts";
import { json } from "../responses.ts";
import { presentBuild, presentListed } from "./present.ts";
import type { HandlerOf } from "./services.ts";

/** `GET /templates`: all of the caller's, oldest first. */
export const listTemplates: HandlerOf<typeof routes.listTemplates> = async ({ caller }, { templateLists }) =>
  json(200, (await templateLists.all(caller.teamId)).map(presentListed));

/** `GET /default-templates`. */
export const listDefaultTemplates: HandlerOf<typeof routes.listDefaultTemplates> = async ({ caller }, { templateLists }) =>
  json(200, (await templateLists.defaults(caller.teamId)).map(presentListed));

/** `GET /v2/templates`: the same in pages. */
export const listTemplatesV2: HandlerOf<typeof routes.listTemplatesV2> = async ({ query, caller }, { templateLists }) => {
  const page = await templateLists.page(caller.teamId, pageQuery(query.nextToken, { limit: query.limit, field: "nextToken" }));
  return json(200, page.items.map(presentListed), headersOf(page));
};

/** `GET /templates/{id}`: with its builds, in pages. */
export const getTemplate: HandlerOf<typeof routes.getTemplate> = async ({ query, caller, param }, { templateLists, observations }) => {
  const page = pageQuery(query.nextToken, { limit: query.limit, field: "nextToken" });
  const { entry, builds } = await templateLists.one(caller.teamId, param("templateID"), page);
  const listed = builds.items.map((build) => presentBuild(build, observations));
  return json(200, { ...presentListed(entry), builds: listed }, headersOf(builds));
};

/** `GET /boxyard/templates/{id}/layers`. */
export const getTemplateLayers: HandlerOf<typeof routes.getTemplateLayers> = async ({ caller, param }, { templateLists }) => {
  const { buildId, layers } = await templateLists.layers(caller.teamId, param("templateID"));
  const presented = layers.map(({ digest, info, templates }) => ({
    digest,
    ...(info && { sizeBytes: info.sizeBytes, createdAt: new Date(info.createdAt).toISOString() }),
    templates: [...templates],
  }));
  return json(200, { buildID: buildId ?? "", layers: presented });
};

const headersOf = ({ next }: Page<unknown>) => next && { "X-Next-Token": tokenOf(next) };
