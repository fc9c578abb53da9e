import type { routes } from "@boxyard/spec/platform";
import { json } from "../responses.ts";
import { presentRequested } from "./present.ts";
import type { HandlerOf } from "./services.ts";

/** `POST /v3/templates` (docs/contract/templates.md, Create). */
export const createTemplate: HandlerOf<typeof routes.createTemplate> = async ({ body, caller }, { catalog }) => {
  const { template, build } = await catalog.request(caller.teamId, body);
  return json(202, presentRequested(template, build));
};
