import { parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import { json } from "../responses.ts";
import type { HandlerOf } from "./services.ts";

export const getMetrics: HandlerOf<typeof routes.getMetrics> = async ({ query, caller, param }, { observations }) =>
  json(200, await observations.metricsOf(caller.teamId, parseSandboxId(param("sandboxID")), query));

export const listMetrics: HandlerOf<typeof routes.listMetrics> = ({ query, caller }, { observations }) => {
  const ids = query.sandbox_ids.split(",").filter((id) => id !== "");
  return json(200, { sandboxes: observations.newestMetrics(caller.teamId, ids) });
};
