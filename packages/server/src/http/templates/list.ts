import type { routes } from "@boxyard/spec/platform";
import type { Template } from "../../templates/templates.ts";
import { pageAfter } from "../page.ts";
import { json } from "../responses.ts";
import { presentBuild, presentListed } from "./present.ts";
import type { HandlerOf, TemplateServices } from "./services.ts";

/** `GET /templates`: all of the caller's, oldest first. */
export const listTemplates: HandlerOf<typeof routes.listTemplates> = async ({ caller }, context) =>
  json(200, await presentAll(context.catalog.list(caller.teamId), context));

/** `GET /default-templates`. */
export const listDefaultTemplates: HandlerOf<typeof routes.listDefaultTemplates> = async ({ caller }, context) =>
  json(200, await presentAll(context.catalog.listDefaults(caller.teamId), context));

/** `GET /v2/templates`: the same in pages. */
export const listTemplatesV2: HandlerOf<typeof routes.listTemplatesV2> = async ({ query, caller }, context) => {
  const { page, headers } = pageOf(context.catalog.list(caller.teamId), ({ record }) => record.id, query);
  return json(200, await presentAll(page, context), headers);
};

/** `GET /templates/{id}`: with its builds, in pages. */
export const getTemplate: HandlerOf<typeof routes.getTemplate> = async ({ query, caller, param }, { templates, templateFiles, store }) => {
  const template = templates.find(caller.teamId, param("templateID"));
  const builds = await store.templates.listBuilds(template.record.id);
  const { page, headers } = pageOf(builds, (build) => build.id, query);
  return json(
    200,
    { ...presentListed(template, builds, await templateFiles.areMissing(template)), builds: page.map(presentBuild) },
    headers,
  );
};

function presentAll(found: readonly Template[], { store, templateFiles }: TemplateServices) {
  return Promise.all(
    found.map(async (template) =>
      presentListed(template, await store.templates.listBuilds(template.record.id), await templateFiles.areMissing(template)),
    ),
  );
}

interface PageQuery {
  readonly limit: number;
  readonly nextToken?: string | undefined;
}

function pageOf<T>(items: readonly T[], idOf: (item: T) => string, { limit, nextToken }: PageQuery) {
  const { page, next } = pageAfter(items, idOf, { token: nextToken, limit, field: "nextToken" });
  const headers: Record<string, string> = next === undefined ? {} : { "X-Next-Token": next };
  return { page, headers };
}
