import { AppError, isSandboxId, parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import type { HandlerOf } from "../route.ts";
import { json } from "./present.ts";

const MAX_IDS = 100;

export const getMetrics: HandlerOf<typeof routes.getMetrics> = ({ query, caller, param }, { lifecycle, sampler }) => {
  const { id } = lifecycle.get(caller.teamId, parseSandboxId(param("sandboxID")));
  if (query.start !== undefined && query.end !== undefined && query.start > query.end) {
    throw new AppError("invalid_argument", "start: must not be after end", { reason: "invalid_range" });
  }
  return json(200, sampler.history(id, query.start, query.end));
};

export const listMetrics: HandlerOf<typeof routes.listMetrics> = ({ query, caller }, { lifecycle, sampler }) => {
  const ids = query.sandbox_ids.split(",").filter((id) => id !== "");
  if (ids.length > MAX_IDS) throw new AppError("invalid_argument", `sandbox_ids: at most ${MAX_IDS} ids`, { reason: "too_many_ids" });
  const sandboxes: Record<string, unknown> = {};
  for (const id of ids) {
    const live = isSandboxId(id) ? lifecycle.find(id) : undefined;
    const newest = live?.record.teamId === caller.teamId ? sampler.newest(id) : undefined;
    if (newest) sandboxes[id] = newest;
  }
  return json(200, { sandboxes });
};
