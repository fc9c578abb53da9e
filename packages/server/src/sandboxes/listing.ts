import type { Page, PageQuery, Position } from "../page.ts";
import type { SandboxRecord } from "../store/index.ts";
import { firstAtOrAfter, type Placed, type TeamOrder } from "./engine/start-order.ts";
import type { VisibleState } from "./visible-state.ts";

/** Which sandboxes a list shows, in which order, and which part of it. */
export interface SandboxQuery extends PageQuery {
  readonly states: ReadonlySet<VisibleState>;
  /** By start; sandboxes that started at the same time are ordered by their ids. */
  readonly order: "asc" | "desc";
  /** A sandbox must match all of them; every sandbox matches when there is none. */
  readonly metadata?: readonly MetadataFilter[];
  /** Name or id of the template, without a tag. No sandbox matches a template that does not exist. */
  readonly template?: string | undefined;
  /** Earliest start, in milliseconds since 1970, included. */
  readonly startedAfter?: number | undefined;
}

/** Matches a sandbox whose metadata has one of `values` under one of `keys`. */
export interface MetadataFilter {
  readonly keys: readonly string[];
  readonly values: readonly string[];
}

export interface SandboxPage extends Page<SandboxRecord> {
  /** How many sandboxes of all pages match and run. */
  readonly running: number;
}

/** The page of a team's sandboxes that `query` describes; `idsFor` gives the ids of the templates that a name or id means. */
export function pageOf(team: TeamOrder, query: SandboxQuery, idsFor: (template: string) => ReadonlySet<string>): SandboxPage {
  const { placed, running } = narrowed(team, query, idsFor);
  const { states, order, after, limit = Number.POSITIVE_INFINITY } = query;
  const items: SandboxRecord[] = [];
  let last: Placed | undefined;
  let next: Position | undefined;
  const step = order === "asc" ? 1 : -1;
  for (let place = firstOf(placed, order, after); place >= 0 && place < placed.length; place += step) {
    const one = placed[place] as Placed;
    if (!states.has(one.isRunning ? "running" : "paused")) continue;
    if (items.length >= limit) {
      next = last && { at: last.at, id: last.id };
      break;
    }
    items.push(one.sandbox.record);
    last = one;
  }
  return { items, next, running: states.has("running") ? running : 0 };
}

/** Those of the team that match, in whatever state: the team's own order where everything does, which is not looked through then. */
function narrowed(
  team: TeamOrder,
  { metadata = [], template, startedAfter }: SandboxQuery,
  idsFor: (template: string) => ReadonlySet<string>,
): TeamOrder {
  if (metadata.length === 0 && template === undefined && startedAfter === undefined) return team;
  const templateIds = template === undefined ? undefined : idsFor(template);
  const placed: Placed[] = [];
  let running = 0;
  const { placed: all } = team;
  for (let place = startedAfter === undefined ? 0 : firstAtOrAfter(all, { at: startedAfter, id: "" }); place < all.length; place++) {
    const one = all[place] as Placed;
    const { record } = one.sandbox;
    if (templateIds && !templateIds.has(record.templateId)) continue;
    if (!metadata.every((filter) => hasMetadata(record, filter))) continue;
    placed.push(one);
    if (one.isRunning) running++;
  }
  return { placed, running };
}

/** The place of the first one behind a position, in the order. */
function firstOf(placed: readonly Placed[], order: "asc" | "desc", after: Position | undefined): number {
  if (after === undefined) return order === "asc" ? 0 : placed.length - 1;
  const place = firstAtOrAfter(placed, after);
  if (order === "desc") return place - 1;
  return placed[place]?.at === after.at && placed[place]?.id === after.id ? place + 1 : place;
}

const hasMetadata = ({ settings: { metadata } }: SandboxRecord, { keys, values }: MetadataFilter) =>
  keys.some((key) => Object.hasOwn(metadata, key) && values.includes(metadata[key] ?? ""));
