import { FIRST_BUILD } from "./fill.ts";

/** Parts of the paths and queries of lists. */
export interface Known {
  readonly sandboxId: string;
  readonly templateId: string;
  readonly webhookId: string;
  readonly sandboxIds: readonly string[];
  /** How many events were filled. */
  readonly events: number;
}

/** Each route that answers a list, with the requests that are measured, by name. */
export function listsOf({
  sandboxId,
  templateId,
  webhookId,
  sandboxIds,
  events,
}: Known): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const sandbox = `/sandboxes/${sandboxId}`;
  const template = `/templates/${templateId}`;
  const now = Math.floor(Date.now() / 1000);
  return {
    "GET /sandboxes": { all: "/sandboxes" },
    "GET /v2/sandboxes": {
      "a page": "/v2/sandboxes?limit=100",
      "the oldest": "/v2/sandboxes?limit=100&order=asc",
      "by metadata": "/v2/sandboxes?limit=100&metadata=nobody%3Dhas",
      "by template": "/v2/sandboxes?limit=100&template=base",
    },
    "GET /sandboxes/metrics": { "of 100": `/sandboxes/metrics?sandbox_ids=${sandboxIds.slice(0, 100).join(",")}` },
    "GET /sandboxes/{sandboxID}/metrics": {
      "30 days": `${sandbox}/metrics`,
      "an hour": `${sandbox}/metrics?start=${now - 3600}`,
      "an hour of last week": `${sandbox}/metrics?start=${now - 604_800}&end=${now - 601_200}`,
    },
    "GET /sandboxes/{sandboxID}/logs": { all: `${sandbox}/logs?limit=1000` },
    "GET /v2/sandboxes/{sandboxID}/logs": {
      backward: `/v2${sandbox}/logs?limit=1000&direction=backward`,
      "by a text": `/v2${sandbox}/logs?limit=1000&search=line%201`,
    },
    "GET /sandboxes/{sandboxID}/network/log": { all: `${sandbox}/network/log` },
    "GET /snapshots": { all: "/snapshots" },
    "GET /templates": { all: "/templates" },
    "GET /v2/templates": { all: "/v2/templates" },
    "GET /default-templates": { all: "/default-templates" },
    "GET /templates/{templateID}": { "a page of builds": template },
    "GET /templates/{templateID}/tags": { all: `${template}/tags` },
    "GET /templates/{templateID}/tags/groups": { all: `${template}/tags/groups` },
    "GET /templates/{templateID}/tags/{tag}/assignments": { all: `${template}/tags/default/assignments` },
    "GET /templates/{templateID}/builds/{buildID}/logs": { "a page": `${template}/builds/${FIRST_BUILD}/logs?limit=100` },
    "GET /templates/{templateID}/builds/{buildID}/status": { "a page of lines": `${template}/builds/${FIRST_BUILD}/status?limit=100` },
    "GET /api-keys": { all: "/api-keys" },
    "GET /access-tokens": { all: "/access-tokens" },
    "GET /teams": { all: "/teams" },
    "GET /admin/teams": { all: "/admin/teams" },
    "GET /teams/{teamID}/metrics": { "30 days": "/teams/default/metrics" },
    "GET /teams/{teamID}/metrics/max": { "30 days": "/teams/default/metrics/max?metric=concurrent_sandboxes" },
    "GET /usage": { "a year": `/usage?from=${new Date((now - 390 * 86_400) * 1000).toISOString().slice(0, 10)}` },
    "GET /events": {
      first: "/events?limit=100",
      "from the middle": `/events?limit=100&cursor=${events >> 1}`,
      "an action that is often": "/events?limit=100&action=sandbox.running",
      "a kind that is often": `/events?limit=100&action=sandbox&cursor=${events >> 1}`,
      "an action that is rare": "/events?limit=100&action=template.changed",
      "an action that is not": "/events?limit=100&action=volume.removed",
      "a kind that is not": "/events?limit=100&action=volume",
      "of one target": "/events?limit=100&targetID=ended77",
    },
    "GET /events/sandboxes": {
      newest: "/events/sandboxes?limit=100",
      oldest: "/events/sandboxes?limit=100&orderAsc=true",
      "behind 10,000": "/events/sandboxes?limit=100&offset=10000",
      "a type that is not": "/events/sandboxes?limit=100&types=sandbox.lifecycle.paused",
    },
    "GET /events/sandboxes/{sandboxID}": { all: `/events${sandbox}` },
    "GET /events/webhooks": { all: "/events/webhooks" },
    "GET /events/webhooks/{webhookID}/deliveries": { dead: `/events/webhooks/${webhookId}/deliveries?state=dead` },
    "GET /volumes": { all: "/volumes" },
    "GET /boxyard/recordings": { all: "/boxyard/recordings" },
    "GET /secrets": { "a page": "/secrets?limit=100" },
    "GET /nodes": { all: "/nodes" },
    "GET /nodes/{nodeID}": { "with its sandboxes": "/nodes/home" },
  };
}

/** Routes that are read and answer no list. */
export const NO_LISTS: ReadonlySet<string> = new Set([
  "GET /health",
  "GET /sandboxes/{sandboxID}",
  "GET /sandboxes/by-name/{sandboxName}",
  "GET /sandboxes/{sandboxID}/ports/{port}/url",
  "GET /sandboxes/{sandboxID}/network/suggest",
  "GET /sandboxes/{sandboxID}/usage",
  "GET /templates/aliases/{alias}",
  "GET /templates/{templateID}/tags/exists",
  "GET /templates/{templateID}/tags/count",
  "GET /templates/{templateID}/files/{hash}",
  "GET /boxyard/templates/{templateID}/archive",
  // As long as a template has layers.
  "GET /boxyard/templates/{templateID}/layers",
  "GET /events/stream",
  "GET /events/webhooks/{webhookID}",
  "GET /volumes/{volumeID}",
  "GET /boxyard/volumes/{volume}",
  "GET /boxyard/volumes/{volume}/archive",
  "GET /boxyard/server",
  "GET /boxyard/settings",
  "GET /boxyard/team",
  // Bounded by its query.
  "GET /boxyard/recordings/{recording}",
  "GET /boxyard/recordings/{recording}/har",
  "GET /secrets/{secretID}",
]);
