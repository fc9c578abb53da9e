import { ENVD_VERSION } from "@boxyard/spec";
import type { BuildInfo, BuildLogEntry, ListedBuild, ListedTemplate, RequestedTemplate } from "@boxyard/spec/platform";
import type { Observations } from "../../sandboxes/observations.ts";
import type { BuildLogLine, BuildRecord, TemplateRecord } from "../../store/index.ts";
import type { BuildProgress } from "../../templates/builds/builds.ts";
import { mainVersion } from "../../templates/catalog.ts";
import type { TemplateEntry } from "../../templates/template-lists.ts";
import { DEFAULT_DISK_MB } from "../../templates/templates.ts";

const iso = (at: number) => new Date(at).toISOString();
/** With the namespace, so that a name means the same template to every team (docs/contract/templates.md). */
export const namesOf = ({ namespace, name }: TemplateRecord): string[] => (name === undefined ? [] : [`${namespace}/${name}`]);
/** Without the namespace, as the template's own team may call it. */
const aliasesOf = ({ name }: TemplateRecord): string[] => (name === undefined ? [] : [name]);

export function presentRequested(template: TemplateRecord, build: BuildRecord): RequestedTemplate {
  const [names, aliases] = [namesOf(template), aliasesOf(template)];
  return { templateID: template.id, buildID: build.id, public: template.isPublic, names, tags: [...build.tags], aliases };
}

/** A template whose files are missing has the status `error`, which every client knows, and `filesMissing`, which says why. */
export function presentListed({ template, builds, areFilesMissing }: TemplateEntry): ListedTemplate {
  const { record } = template;
  const main = mainVersion(template);
  const newest = builds[0];
  const resources = main?.spec ?? newest?.resources ?? { cpuCount: 2, memoryMB: 1024, diskMB: DEFAULT_DISK_MB };
  return {
    templateID: record.id,
    public: record.isPublic,
    aliases: aliasesOf(record),
    names: namesOf(record),
    createdAt: iso(record.createdAt),
    updatedAt: iso(record.updatedAt),
    lastSpawnedAt: record.lastSpawnedAt === undefined ? null : iso(record.lastSpawnedAt),
    spawnCount: record.spawnCount,
    buildID: main?.buildId ?? newest?.id ?? "",
    cpuCount: resources.cpuCount,
    memoryMB: resources.memoryMB,
    diskSizeMB: resources.diskMB,
    createdBy: null,
    buildCount: builds.length,
    envdVersion: ENVD_VERSION,
    buildStatus: areFilesMissing ? "error" : main ? "ready" : (newest?.status ?? "waiting"),
    ...record.settings,
    ...(areFilesMissing && { filesMissing: true }),
  };
}

export function presentBuild(build: BuildRecord, observations: Pick<Observations, "deletionOf">): ListedBuild {
  const deleteAt = observations.deletionOf("builds", build.id);
  const resources = build.spec ?? build.resources;
  return {
    buildID: build.id,
    status: build.status,
    createdAt: iso(build.createdAt),
    updatedAt: iso(build.updatedAt),
    ...(build.finishedAt === undefined ? {} : { finishedAt: iso(build.finishedAt) }),
    cpuCount: resources.cpuCount,
    memoryMB: resources.memoryMB,
    diskSizeMB: resources.diskMB,
    ...(build.status === "ready" ? { envdVersion: ENVD_VERSION } : {}),
    ...(deleteAt === undefined ? {} : { deleteAt: iso(deleteAt) }),
  };
}

export function presentProgress({ build, lines, reasonLines }: BuildProgress): BuildInfo {
  return {
    templateID: build.templateId,
    buildID: build.id,
    status: build.status,
    logs: [],
    logEntries: lines.map(presentLine),
    ...(build.reason ? { reason: { ...build.reason, logEntries: reasonLines.map(presentLine) } } : {}),
  };
}

export function presentLine({ at, level, step, message }: BuildLogLine): BuildLogEntry {
  return { timestamp: iso(at), level, message, ...(step === undefined ? {} : { step }) };
}
