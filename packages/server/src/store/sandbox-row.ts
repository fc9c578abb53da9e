import type { SandboxId, SandboxState, TeamId, TemplateId } from "@boxyard/core";
import type { EgressPolicy } from "@boxyard/driver";
import type { EventDetail } from "./event.ts";
import type { SandboxUsage } from "./metric-store.ts";
import type { EndCause, SandboxFacts, SandboxOwner, SandboxRecord, SandboxSettings } from "./records.ts";
import type { Secrets } from "./secrets.ts";
import { num, optionalNum, type Row, text } from "./sql-values.ts";
import type { SandboxChange } from "./store.ts";

/** The columns of each member that may change. */
const COLUMNS: { readonly [K in keyof Required<SandboxChange>]: (value: Required<SandboxChange>[K]) => Readonly<Record<string, unknown>> } =
  {
    state: (value) => ({ state: value }),
    reason: (value) => ({ reason: value }),
    startedAt: (value) => ({ started_at: value }),
    endAt: (value) => ({ end_at: value }),
    endedAt: (value) => ({ ended_at: value }),
    incarnation: (value) => ({ incarnation: value }),
    settings: (value) => ({ settings: JSON.stringify(storedSettings(value)) }),
    owner: ownerColumns,
    checkpointId: (value) => ({ checkpoint_id: value }),
    name: (value) => ({ name: value ?? null }),
    usage: (value) => ({ usage: JSON.stringify(value) }),
  };

function ownerColumns(owner: SandboxOwner): Readonly<Record<string, unknown>> {
  return { owner: owner.kind, owner_id: owner.kind === "build" ? owner.id : null };
}

/** The columns that a change sets. */
export function changedColumns(change: SandboxChange): Record<string, unknown> {
  const entries = Object.entries(change) as [keyof SandboxChange, never][];
  return Object.assign({}, ...entries.map(([name, value]) => COLUMNS[name](value)));
}

/** The row of a record, without the node. */
export function rowOf(record: SandboxRecord, secrets: Secrets): Record<string, unknown> {
  return {
    id: record.id as string,
    ...ownerColumns(record.owner),
    team_id: record.teamId as string,
    template_id: record.templateId as string,
    state: record.state,
    reason: record.reason ?? null,
    incarnation: record.incarnation,
    name: record.name ?? null,
    created_at: record.createdAt,
    started_at: record.startedAt ?? null,
    end_at: record.endAt,
    ended_at: record.endedAt ?? null,
    spec: secrets.sealFacts(record.id, record.facts),
    settings: JSON.stringify(storedSettings(record.settings)),
    checkpoint_id: record.checkpointId ?? null,
    usage: record.usage ? JSON.stringify(record.usage) : null,
  };
}

/** The record of a row. `node`: the server's; secrets of other nodes' sandboxes may be sealed with another key, and are left empty. */
export function sandboxOf(row: Row, secrets: Secrets, node: string): SandboxRecord {
  const startedAt = optionalNum(row.started_at);
  const endedAt = optionalNum(row.ended_at);
  const id = text(row.id) as SandboxId;
  const isNeeded = text(row.state) !== "dead" && text(row.node) === node;
  return {
    id,
    owner: ownerOf(row),
    teamId: text(row.team_id) as TeamId,
    templateId: text(row.template_id) as TemplateId,
    state: text(row.state) as SandboxState,
    ...(row.reason === null ? {} : { reason: text(row.reason) as EndCause }),
    incarnation: num(row.incarnation),
    ...(row.name === null ? {} : { name: text(row.name) }),
    createdAt: num(row.created_at),
    ...(startedAt === undefined ? {} : { startedAt }),
    endAt: num(row.end_at),
    ...(endedAt === undefined ? {} : { endedAt }),
    ...(row.checkpoint_id === null ? {} : { checkpointId: text(row.checkpoint_id) }),
    ...(row.usage === null ? {} : { usage: JSON.parse(text(row.usage)) as SandboxUsage }),
    ...factsAndSettings(secrets.openFacts(id, text(row.spec), isNeeded), text(row.settings)),
  };
}

function ownerOf(row: Row): SandboxOwner {
  const kind = text(row.owner) as SandboxOwner["kind"];
  return kind === "build" ? { kind, id: text(row.owner_id) } : { kind };
}

/** Settings as their column holds them: this form is older than `EgressPolicy`. */
type StoredSettings = Omit<SandboxSettings, "egress"> & {
  readonly internetAccess: boolean;
  readonly egress?: Omit<EgressPolicy, "internetAccess">;
};

function storedSettings({ egress, ...rest }: SandboxSettings): StoredSettings {
  const { internetAccess, ...lists } = egress;
  return { ...rest, internetAccess, ...(Object.keys(lists).length > 0 && { egress: lists }) };
}

const settingsOf = ({ internetAccess, egress, ...rest }: StoredSettings): SandboxSettings => ({
  ...rest,
  egress: { internetAccess, ...egress },
});

/** Rows that are older than the column of settings have the settings among their facts. */
function factsAndSettings(stored: SandboxFacts, settings: string): { facts: SandboxFacts; settings: SandboxSettings } {
  if (settings !== "") return { facts: stored, settings: settingsOf(JSON.parse(settings) as StoredSettings) };
  const { metadata, internetAccess, egress, allowPublicTraffic, maskRequestHost, ...facts } = stored as SandboxFacts & StoredSettings;
  const optional = { ...(egress && { egress }), ...(maskRequestHost === undefined ? {} : { maskRequestHost }) };
  return { facts, settings: settingsOf({ metadata, internetAccess, allowPublicTraffic, ...optional }) };
}

/** The values of a new sandbox for its event; without its environment and its init key, which are secrets. */
export function insertedDetail({ state, owner, name, templateId, facts, settings }: SandboxRecord): EventDetail {
  return {
    ...(name !== undefined && { name }),
    state,
    owner,
    templateId,
    alias: facts.alias,
    resources: facts.resources,
    internetAccess: settings.egress.internetAccess,
  };
}

/** The old and new values of a change, for its event. */
export function changedDetail(change: SandboxChange, before: SandboxChange): { before: EventDetail; after: EventDetail } {
  const old = Object.fromEntries(Object.entries(before).filter(([name]) => name in change));
  return { before: flat(old), after: flat(change) };
}

/** Without the creator of a set-up, who is known by a secret word. */
function flat({ settings, ...rest }: SandboxChange): EventDetail {
  if (!settings) return rest;
  const { setup, ...others } = storedSettings(settings);
  return { ...rest, ...others, ...(setup && { setupUntil: setup.until }) };
}
