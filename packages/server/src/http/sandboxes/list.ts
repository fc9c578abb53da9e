import { AppError } from "@boxyard/core";
import type { ListV2Query, routes } from "@boxyard/spec/platform";
import { visibleState } from "../../sandboxes/visible-state.ts";
import type { SandboxRecord } from "../../store/index.ts";
import { parseTemplateReference } from "../../templates/reference.ts";
import type { Templates } from "../../templates/templates.ts";
import { json, presentListed } from "./present.ts";
import type { HandlerOf } from "./services.ts";

const invalid = (message: string) => new AppError("invalid_argument", message, { reason: "invalid_query" });
const RUNNING: ReadonlySet<string> = new Set(["running"]);
const startOf = (record: SandboxRecord) => record.startedAt ?? record.createdAt;

/** `GET /sandboxes`: running ones, newest first. */
export const listSandboxes: HandlerOf<typeof routes.listSandboxes> = ({ query, caller }, { sandboxes }) => {
  const wanted = parseMetadata(query.metadata);
  const found = sandboxes.list(caller.teamId, RUNNING).filter((record) => hasMetadata(record, wanted));
  return json(200, sorted(found, "desc").map(presentListed));
};

/** `GET /v2/sandboxes`: filtered, in pages (docs/contract/platform.md). */
export const listSandboxesV2: HandlerOf<typeof routes.listSandboxesV2> = ({ query, caller }, { sandboxes, templates }) => {
  const states = parseStates(query.state);
  const wanted = parseMetadata(query.metadata);
  const ofTemplate = templateFilter(query.template, templates);
  const after = query.startedAfter === undefined ? undefined : Date.parse(query.startedAfter);
  const cursor = parseCursor(query.nextToken, query.order);
  const matching = sandboxes
    .list(caller.teamId, states)
    .filter((record) => hasMetadata(record, wanted) && ofTemplate(record) && (after === undefined || startOf(record) >= after));
  const rest = sorted(matching, query.order).filter((record) => cursor === undefined || isBehind(record, cursor, query.order));
  const page = rest.slice(0, query.limit);
  const headers: Record<string, string> = {};
  const last = page.at(-1);
  if (rest.length > page.length && last) headers["X-Next-Token"] = cursorOf(last, query.order);
  if (states.has("running")) headers["X-Total-Running"] = String(matching.filter(({ state }) => visibleState(state) === "running").length);
  return json(200, page.map(presentListed), headers);
};

function sorted(records: SandboxRecord[], order: "asc" | "desc"): SandboxRecord[] {
  const sign = order === "asc" ? 1 : -1;
  return records.sort((a, b) => sign * (startOf(a) - startOf(b) || (a.id < b.id ? -1 : 1)));
}

function parseStates(text: string | undefined): Set<string> {
  const states = new Set((text ?? "running,paused").split(",").filter((state) => state !== ""));
  for (const state of states)
    if (state !== "running" && state !== "paused") throw invalid(`state: '${state.slice(0, 50)}' is neither running nor paused`);
  return states;
}

/** What a part of a filter may mean: one text, or two when it is not clear how often it was encoded. */
type Readings = readonly string[];

/** `k=v&k2=v2` with each part url-encoded. */
function parseMetadata(text: string | undefined): [Readings, Readings][] {
  if (text === undefined || text === "") return [];
  return text.split("&").map((pair) => {
    const [key, value, more] = pair.split("=");
    if (key === undefined || value === undefined || more !== undefined) throw invalid("metadata: must be k=v pairs joined by &");
    try {
      return [readingsOf(key), readingsOf(value)];
    } catch {
      throw invalid("metadata: is not url-encoded");
    }
  });
}

/**
 * Public clients encode each part twice before the whole becomes a query value (recorded from npm 2.51.0 and PyPI 2.63.0), others once. So a
 * part that can be decoded a second time means either: `100%25` of one client is `100%25` of another encoded once more.
 */
function readingsOf(part: string): Readings {
  const once = decodeURIComponent(part.replaceAll("+", " "));
  try {
    const twice = decodeURIComponent(once);
    return twice === once ? [once] : [once, twice];
  } catch {
    return [once];
  }
}

const hasMetadata = ({ settings }: SandboxRecord, wanted: [Readings, Readings][]) =>
  wanted.every(([keys, values]) =>
    keys.some((key) => Object.hasOwn(settings.metadata, key) && values.includes(settings.metadata[key] ?? "")),
  );

function templateFilter(text: string | undefined, templates: Pick<Templates, "idsFor">): (record: SandboxRecord) => boolean {
  if (text === undefined || text === "") return () => true;
  const { name, tag } = parseTemplateReference(text);
  if (tag !== undefined) throw invalid("template: must not have a tag");
  const ids = templates.idsFor(name);
  return (record) => ids.has(record.templateId);
}

interface Cursor {
  readonly startedAt: number;
  readonly id: string;
}

const cursorOf = (record: SandboxRecord, order: ListV2Query["order"]) =>
  Buffer.from(`${startOf(record)}__${record.id}__${order}`).toString("base64url");

function parseCursor(text: string | undefined, order: ListV2Query["order"]): Cursor | undefined {
  if (text === undefined || text === "") return undefined;
  const parts = /^(\d{1,15})__(i[a-z0-9]{20})__(asc|desc)$/.exec(Buffer.from(text, "base64url").toString());
  if (!parts || parts[3] !== order) throw invalid("nextToken: is not one of this listing");
  return { startedAt: Number(parts[1]), id: parts[2] ?? "" };
}

function isBehind(record: SandboxRecord, cursor: Cursor, order: "asc" | "desc"): boolean {
  const difference = startOf(record) - cursor.startedAt || (record.id === cursor.id ? 0 : record.id < cursor.id ? -1 : 1);
  return order === "asc" ? difference > 0 : difference < 0;
}
