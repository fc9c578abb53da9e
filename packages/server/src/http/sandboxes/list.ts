import { AppError } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import type { MetadataFilter } from "../../sandboxes/listing.ts";
import type { VisibleState } from "../../sandboxes/visible-state.ts";
import { parseTemplateReference } from "../../templates/reference.ts";
import { pageQuery, tokenOf } from "../page-token.ts";
import { json } from "../responses.ts";
import { presentListed } from "./present.ts";
import type { HandlerOf } from "./services.ts";

const invalid = (message: string) => new AppError("invalid_argument", message, { reason: "invalid_query" });
const RUNNING: ReadonlySet<VisibleState> = new Set(["running"]);

/** `GET /sandboxes`: running ones, newest first. */
export const listSandboxes: HandlerOf<typeof routes.listSandboxes> = ({ query, caller }, services) => {
  const wanted = { states: RUNNING, order: "desc", metadata: parseMetadata(query.metadata) } as const;
  return json(
    200,
    services.sandboxes.list(caller.teamId, wanted).items.map((record) => presentListed(record, services)),
  );
};

/** `GET /v2/sandboxes`: filtered, in pages (docs/contract/platform.md). */
export const listSandboxesV2: HandlerOf<typeof routes.listSandboxesV2> = ({ query, caller }, services) => {
  const { order, limit, nextToken } = query;
  const states = parseStates(query.state);
  const { items, next, running } = services.sandboxes.list(caller.teamId, {
    states,
    order,
    metadata: parseMetadata(query.metadata),
    template: parseTemplate(query.template),
    startedAfter: query.startedAfter === undefined ? undefined : Date.parse(query.startedAfter),
    ...pageQuery(nextToken, { limit, field: "nextToken", order }),
  });
  const headers = {
    ...(next && { "X-Next-Token": tokenOf(next, order) }),
    ...(states.has("running") && { "X-Total-Running": String(running) }),
  };
  return json(
    200,
    items.map((record) => presentListed(record, services)),
    headers,
  );
};

function parseStates(text = "running,paused"): Set<VisibleState> {
  const states = new Set<VisibleState>();
  for (const state of text.split(",")) {
    if (state === "running" || state === "paused") states.add(state);
    else if (state !== "") throw invalid(`state: '${state.slice(0, 50)}' is neither running nor paused`);
  }
  return states;
}

/** `k=v&k2=v2` with each part url-encoded. */
function parseMetadata(text: string | undefined): MetadataFilter[] {
  if (text === undefined || text === "") return [];
  return text.split("&").map((pair) => {
    const [key, value, more] = pair.split("=");
    if (key === undefined || value === undefined || more !== undefined) throw invalid("metadata: must be k=v pairs joined by &");
    try {
      return { keys: readingsOf(key), values: readingsOf(value) };
    } catch {
      throw invalid("metadata: is not url-encoded");
    }
  });
}

/**
 * The texts that a part of a filter may mean. Some public clients encode each part twice before the whole becomes a query value (recorded from
 * npm 2.51.0 and PyPI 2.63.0), others encode it once. So a part that can be decoded a second time has two meanings: `100%25` of one client is
 * `100%25` of another encoded once more.
 */
function readingsOf(part: string): readonly string[] {
  const once = decodeURIComponent(part.replaceAll("+", " "));
  try {
    const twice = decodeURIComponent(once);
    return twice === once ? [once] : [once, twice];
  } catch {
    return [once];
  }
}

function parseTemplate(text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  const { name, tag } = parseTemplateReference(text);
  if (tag !== undefined) throw invalid("template: must not have a tag");
  return name;
}
