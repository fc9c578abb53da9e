import type { SandboxId } from "@boxyard/core";
import type { SandboxRecord } from "../store/index.ts";
import { cutPage } from "./cut-page.ts";
import { type VisibleState, visibleState } from "./visible-state.ts";

/** Which sandboxes a list shows, in which order, and which part of it. */
export interface SandboxQuery {
  readonly states: ReadonlySet<VisibleState>;
  /** By start; sandboxes that started at the same time are ordered by their ids. */
  readonly order: "asc" | "desc";
  /** A sandbox must match all of them; every sandbox matches when there is none. */
  readonly metadata?: readonly MetadataFilter[];
  /** Name or id of the template, without a tag. No sandbox matches a template that does not exist. */
  readonly template?: string | undefined;
  /** Earliest start, in milliseconds since 1970, included. */
  readonly startedAfter?: number | undefined;
  /** The page begins behind this position in the order; at the first sandbox by default. */
  readonly after?: SandboxPosition | undefined;
  /** Length of a page; all sandboxes by default. */
  readonly limit?: number;
}

/** Matches a sandbox whose metadata has one of `values` under one of `keys`. */
export interface MetadataFilter {
  readonly keys: readonly string[];
  readonly values: readonly string[];
}

/** A position in a list that is ordered by start. It stays valid when the sandbox that had it ends. */
export interface SandboxPosition {
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly id: SandboxId;
}

export interface SandboxPage {
  readonly records: SandboxRecord[];
  /** Position of the page's last sandbox if more sandboxes follow. */
  readonly next?: SandboxPosition;
  /** How many sandboxes of all pages match and run. */
  readonly running: number;
}

/** The page of `records` that `query` describes; `idsFor` gives the ids of the templates that a name or id means. */
export function pageOf(
  records: readonly SandboxRecord[],
  query: SandboxQuery,
  idsFor: (template: string) => ReadonlySet<string>,
): SandboxPage {
  const { states, order, metadata = [], template, startedAfter = -Infinity, after, limit } = query;
  const templateIds = template === undefined ? undefined : idsFor(template);
  const sign = order === "asc" ? 1 : -1;
  const matching = records.filter((record) => {
    const state = visibleState(record.state);
    if (state === undefined || !states.has(state) || startOf(record) < startedAfter) return false;
    return (templateIds?.has(record.templateId) ?? true) && metadata.every((filter) => hasMetadata(record, filter));
  });
  const rest = matching
    .filter((record) => after === undefined || sign * compare(positionOf(record), after) > 0)
    .sort((a, b) => sign * compare(positionOf(a), positionOf(b)));
  const { page, next } = cutPage(rest, limit, positionOf);
  return {
    records: page,
    ...(next && { next }),
    running: matching.filter(({ state }) => visibleState(state) === "running").length,
  };
}

const startOf = ({ startedAt, createdAt }: SandboxRecord) => startedAt ?? createdAt;
const positionOf = (record: SandboxRecord): SandboxPosition => ({ startedAt: startOf(record), id: record.id });

function compare(a: SandboxPosition, b: SandboxPosition): number {
  return a.startedAt - b.startedAt || (a.id === b.id ? 0 : a.id < b.id ? -1 : 1);
}

const hasMetadata = ({ settings: { metadata } }: SandboxRecord, { keys, values }: MetadataFilter) =>
  keys.some((key) => Object.hasOwn(metadata, key) && values.includes(metadata[key] ?? ""));
