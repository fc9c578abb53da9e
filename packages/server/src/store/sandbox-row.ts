import type { SandboxId, SandboxState, TeamId, TemplateId } from "@boxyard/core";
import type { EgressPolicy } from "@boxyard/driver";
import type { EventDetail } from "./event.ts";
import type { SandboxUsage } from "./metric-store.ts";
import type { EndCause, SandboxFacts, SandboxOwner, SandboxRecord } from "./records.ts";
import type { SandboxSettings } from "./sandbox-settings.ts";
import type { Secrets } from "./secrets.ts";
import { num, optionalNum, type Row, text } from "./sql-values.ts";
import type { SandboxChange } from "./store.ts";

/** The columns of each member that may change, but of `settings`, which have secrets. */
const COLUMNS: {
  readonly [K in Exclude<keyof SandboxChange, "settings">]-?: (value: Required<SandboxChange>[K]) => Readonly<Record<string, unknown>>;
} = {
  state: (value) => ({ state: value }),
  reason: (value) => ({ reason: value }),
  startedAt: (value) => ({ started_at: value }),
  endAt: (value) => ({ end_at: value }),
  endedAt: (value) => ({ ended_at: value }),
  incarnation: (value) => ({ incarnation: value }),
  owner: ownerColumns,
  checkpointId: (value) => ({ checkpoint_id: value }),
  name: (value) => ({ name: value ?? null }),
  usage: (value) => ({ usage: JSON.stringify(value) }),
};

function ownerColumns(owner: SandboxOwner): Readonly<Record<string, unknown>> {
  return { owner: owner.kind, owner_id: owner.kind === "build" ? owner.id : null };
}

/** The columns that a change sets. */
export function changedColumns({ settings, ...change }: SandboxChange, id: SandboxId, secrets: Secrets): Record<string, unknown> {
  const entries = Object.entries(change) as [keyof typeof COLUMNS, never][];
  const own = settings ? { settings: settingsText(settings, id, secrets) } : {};
  return Object.assign(own, ...entries.map(([name, value]) => COLUMNS[name](value)));
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
    settings: settingsText(record.settings, record.id, secrets),
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
    ...factsAndSettings(secrets.openFacts(id, text(row.spec), isNeeded), text(row.settings), (stored) => opened(stored, id, secrets)),
  };
}

function ownerOf(row: Row): SandboxOwner {
  const kind = text(row.owner) as SandboxOwner["kind"];
  return kind === "build" ? { kind, id: text(row.owner_id) } : { kind };
}

/** Settings as their column holds them: this form is older than `EgressPolicy`. */
type StoredSettings = Omit<SandboxSettings, "egress" | keyof SealedSettings> & {
  /** `SealedSettings` as JSON, sealed. */
  readonly sealed?: string;
  readonly internetAccess: boolean;
  readonly egress?: Omit<EgressPolicy, "internetAccess">;
};

/** The settings that may hold secrets: rules put tokens into requests, and a proxy has a password. */
type SealedSettings = Pick<SandboxSettings, "rules" | "egressProxy">;

const sealedPlace = (id: SandboxId) => `sandboxes/${id}/settings`;

function settingsText(settings: SandboxSettings, id: SandboxId, secrets: Secrets): string {
  const { rules, egressProxy } = settings;
  const hidden: SealedSettings = { ...(rules && { rules }), ...(egressProxy && { egressProxy }) };
  const sealed = rules || egressProxy ? secrets.seal(JSON.stringify(hidden), sealedPlace(id)) : undefined;
  return JSON.stringify({ ...storedSettings(settings), ...(sealed !== undefined && { sealed }) });
}

/** None where another key has sealed them: then this server does not use the sandbox. */
function opened(sealed: string | undefined, id: SandboxId, secrets: Secrets): SealedSettings {
  const plain = sealed === undefined ? undefined : secrets.unseal(sealed, sealedPlace(id));
  return plain === undefined ? {} : (JSON.parse(plain) as SealedSettings);
}

function storedSettings({ egress, rules: _, egressProxy: _proxy, ...rest }: SandboxSettings): StoredSettings {
  const { internetAccess, ...lists } = egress;
  return { ...rest, internetAccess, ...(Object.keys(lists).length > 0 && { egress: lists }) };
}

const settingsOf = ({ internetAccess, egress, sealed: _, ...rest }: StoredSettings, hidden: SealedSettings): SandboxSettings => ({
  ...rest,
  ...hidden,
  egress: { internetAccess, ...egress },
});

/** Rows that are older than the column of settings have the settings among their facts. */
function factsAndSettings(
  stored: SandboxFacts,
  settings: string,
  open: (sealed: string | undefined) => SealedSettings,
): { facts: SandboxFacts; settings: SandboxSettings } {
  if (settings !== "") {
    const parsed = JSON.parse(settings) as StoredSettings;
    return { facts: stored, settings: settingsOf(parsed, open(parsed.sealed)) };
  }
  const { metadata, internetAccess, egress, allowPublicTraffic, maskRequestHost, ...facts } = stored as SandboxFacts & StoredSettings;
  const optional = { ...(egress && { egress }), ...(maskRequestHost === undefined ? {} : { maskRequestHost }) };
  return { facts, settings: settingsOf({ metadata, internetAccess, allowPublicTraffic, ...optional }, {}) };
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

/** Without the creator of a set-up, who is known by a secret word, and of the rules for requests the hosts alone. */
function flat({ settings, ...rest }: SandboxChange): EventDetail {
  if (!settings) return rest;
  const { setup, ...others } = storedSettings(settings);
  const hosts = settings.rules && { rules: Object.keys(settings.rules) };
  return { ...rest, ...others, ...(setup && { setupUntil: setup.until }), ...hosts };
}
