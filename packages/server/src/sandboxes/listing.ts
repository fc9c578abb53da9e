import { oldestFirst, type Page, type PageQuery, type Position, pageIn, reversed } from "../page.ts";
import type { SandboxRecord } from "../store/index.ts";
import { type VisibleState, visibleState } from "./visible-state.ts";

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

/** The page of `records` that `query` describes; `idsFor` gives the ids of the templates that a name or id means. */
export function pageOf(
  records: readonly SandboxRecord[],
  query: SandboxQuery,
  idsFor: (template: string) => ReadonlySet<string>,
): SandboxPage {
  const { states, order, metadata = [], template, startedAfter = -Infinity } = query;
  const templateIds = template === undefined ? undefined : idsFor(template);
  const matching = records.filter((record) => {
    const state = visibleState(record.state);
    if (state === undefined || !states.has(state) || startOf(record) < startedAfter) return false;
    return (templateIds?.has(record.templateId) ?? true) && metadata.every((filter) => hasMetadata(record, filter));
  });
  return {
    ...pageIn(matching, ORDERS[order], positionOf, query),
    running: matching.filter(({ state }) => visibleState(state) === "running").length,
  };
}

const startOf = ({ startedAt, createdAt }: SandboxRecord) => startedAt ?? createdAt;
const positionOf = (record: SandboxRecord): Position => ({ at: startOf(record), id: record.id });
const ORDERS = { asc: oldestFirst, desc: reversed(oldestFirst) };

const hasMetadata = ({ settings: { metadata } }: SandboxRecord, { keys, values }: MetadataFilter) =>
  keys.some((key) => Object.hasOwn(metadata, key) && values.includes(metadata[key] ?? ""));
