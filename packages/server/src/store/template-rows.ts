import type { TeamId, TemplateId } from "@boxyard/core";
import {
  type BuildChange,
  type BuildLogLevel,
  type BuildLogLine,
  type BuildRecord,
  type BuildStatus,
  LOG_LEVELS,
  type TemplateKind,
  type TemplateRecord,
  type TemplateSettings,
  type TemplateSpec,
  type TemplateVersion,
} from "./records.ts";
import { num, optionalNum, type Row, text } from "./sql-values.ts";

export const rank = (level: BuildLogLevel) => LOG_LEVELS.indexOf(level);

/** The column of each member of a build that may change. */
const COLUMNS: { readonly [K in keyof Required<BuildChange>]: { name: string; isJson?: boolean } } = {
  status: { name: "status" },
  tags: { name: "tags", isJson: true },
  resources: { name: "resources", isJson: true },
  reason: { name: "reason", isJson: true },
  updatedAt: { name: "updated_at" },
  startedAt: { name: "started_at" },
  finishedAt: { name: "finished_at" },
  spec: { name: "spec", isJson: true },
};

/** The checkpoint that the sandboxes of a version begin with; null for one whose sandboxes boot. */
export const checkpointIn = (spec: TemplateSpec | undefined): string | null => spec?.snapshot?.id ?? spec?.started ?? null;

/** The columns that a change of a build sets. */
export function changedBuildColumns(change: BuildChange): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(change)) {
    const column = COLUMNS[key as keyof BuildChange];
    values[column.name] = column.isJson ? JSON.stringify(value) : value;
  }
  if (change.spec) values.checkpoint_id = checkpointIn(change.spec);
  return values;
}

export function templateOf(row: Row): TemplateRecord {
  const lastSpawnedAt = optionalNum(row.last_spawned_at);
  return {
    id: text(row.id) as TemplateId,
    teamId: text(row.team_id) as TeamId,
    namespace: text(row.slug),
    ...(row.name === null ? {} : { name: text(row.name) }),
    kind: text(row.kind) as TemplateKind,
    isPublic: num(row.public) === 1,
    settings: JSON.parse(text(row.settings)) as TemplateSettings,
    createdAt: num(row.created_at),
    updatedAt: num(row.updated_at),
    spawnCount: num(row.spawn_count),
    ...(lastSpawnedAt === undefined ? {} : { lastSpawnedAt }),
  };
}

export function versionOf(row: Row): TemplateVersion {
  return {
    templateId: text(row.id) as TemplateId,
    teamId: text(row.team_id) as TeamId,
    namespace: text(row.slug),
    isPublic: num(row.public) === 1,
    name: text(row.name ?? row.id),
    tag: text(row.tag),
    buildId: text(row.build_id),
    spec: JSON.parse(text(row.spec)) as TemplateSpec,
    assignedAt: num(row.created_at),
  };
}

/** The resources of a build. Rows of the first schema have them in their spec only. */
function resourcesOf(row: Row, spec: TemplateSpec | undefined): BuildRecord["resources"] {
  const { cpuCount, memoryMB, diskMB } = { ...spec, ...JSON.parse(text(row.resources)) };
  return { cpuCount, memoryMB, diskMB };
}

export function buildOf(row: Row): BuildRecord {
  const spec = row.spec === "" ? undefined : (JSON.parse(text(row.spec)) as TemplateSpec);
  const startedAt = optionalNum(row.started_at);
  const finishedAt = optionalNum(row.finished_at);
  return {
    id: text(row.id),
    templateId: text(row.template_id) as TemplateId,
    status: text(row.status) as BuildStatus,
    tags: JSON.parse(text(row.tags)),
    resources: resourcesOf(row, spec),
    ...(row.reason === null ? {} : { reason: JSON.parse(text(row.reason)) }),
    createdAt: num(row.created_at),
    updatedAt: optionalNum(row.updated_at) ?? num(row.created_at),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
    ...(spec ? { spec } : {}),
  };
}

export function lineOf(row: Row): BuildLogLine {
  return {
    at: num(row.at),
    level: LOG_LEVELS[num(row.level)] ?? "info",
    ...(row.step === null ? {} : { step: text(row.step) }),
    message: text(row.message),
  };
}
