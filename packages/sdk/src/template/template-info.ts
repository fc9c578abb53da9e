import type * as wire from "@boxyard/spec/platform-types";
import { text, texts, unchecked } from "../connection/unchecked.ts";
import type { Retention } from "../keys/teams.ts";
import type { SandboxResources } from "../sandbox/sandbox-api.ts";

/** `waiting`: requested, not started. */
export type BuildState = "waiting" | "building" | "ready" | "error";

/** A line of a build's log. */
export interface BuildLogEntry {
  readonly timestamp: Date;
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  /** `base`, the number of a step from 1 on, or `finalize`; undefined for a line that belongs to no step. */
  readonly step: string | undefined;
}

export interface BuildStatus {
  readonly status: BuildState;
  /** A page of the log, from the requested offset; empty if there are no new entries yet. */
  readonly logs: readonly BuildLogEntry[];
  /** Why the build failed, and at which step. */
  readonly reason: { readonly message: string; readonly step: string | undefined } | undefined;
}

/** A build of a template. */
export interface TemplateBuild {
  readonly buildId: string;
  readonly status: BuildState;
  readonly createdAt: Date;
  /** When a rule of retention deletes it; only of a build without a tag. */
  readonly deleteAt?: Date;
}

/** A template and its newest build. */
export interface TemplateInfo {
  readonly templateId: string;
  readonly buildId: string;
  readonly names: readonly string[];
  /** Also `error` if `filesMissing` is true. */
  readonly buildStatus: BuildState;
  /** True: the template's files were lost with the server's storage pool; build the template again. */
  readonly filesMissing: boolean;
  /** True: other teams may use it. */
  readonly isPublic: boolean;
  readonly cpuCount: number;
  readonly memoryMB: number;
  readonly diskSizeMB: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** When a sandbox was last created from it. */
  readonly lastUsedAt: Date | undefined;
  /** Sandboxes created from it so far. */
  readonly useCount: number;
  readonly buildCount: number;
  /** The newest hundred builds, the newest first. Only `getInfo` returns them. */
  readonly builds?: readonly TemplateBuild[];
  readonly envdVersion: string;
  /** Rules for what was made of it, in place of the team's rules of the same kinds. */
  readonly retention: Retention;
  /** The most that a sandbox of it may have; what is not named has the machine's limits. */
  readonly maxResources: SandboxResources;
  /** Idle time of sandboxes for which none is asked. */
  readonly idleTimeoutMs: number | undefined;
}

/** What is not named stays as it is. */
export interface TemplateSettings {
  /** True: other teams may use it. */
  readonly isPublic?: boolean | undefined;
  /** Replaces all rules of the template; empty: the team's rules hold. */
  readonly retention?: Retention | undefined;
  /** Replaces the most that a sandbox of it may have; empty: the machine's limits. Sandboxes that there are keep their size. */
  readonly maxResources?: SandboxResources | undefined;
  /** Idle time, in whole seconds, of new sandboxes for which none is asked; 0: none. */
  readonly idleTimeoutMs?: number | undefined;
}

/** A name for one build of a template. */
export interface TemplateTag {
  readonly tag: string;
  readonly buildId: string;
  readonly createdAt: Date;
}

const date = (value: unknown) => new Date(text(value) ?? Number.NaN);
const state = (value: unknown): BuildState => (value === "waiting" || value === "building" || value === "ready" ? value : "error");

export function buildFromJson(value: unknown): BuildStatus {
  const json = unchecked<wire.TemplateBuildInfo>(value);
  const reason = unchecked<NonNullable<wire.TemplateBuildInfo["reason"]>>(json.reason);
  return {
    status: state(json.status),
    logs: (Array.isArray(json.logEntries) ? json.logEntries : []).map(entryFromJson),
    reason: json.reason ? { message: text(reason.message) ?? "the build failed", step: text(reason.step) } : undefined,
  };
}

function entryFromJson(value: unknown): BuildLogEntry {
  const json = unchecked<wire.BuildLogEntry>(value);
  const level = json.level === "debug" || json.level === "warn" || json.level === "error" ? json.level : "info";
  return { timestamp: date(json.timestamp), level, message: text(json.message) ?? "", step: text(json.step) };
}

export function templateFromJson(value: unknown): TemplateInfo {
  const json = unchecked<wire.TemplateWithBuilds>(value);
  return {
    templateId: text(json.templateID) ?? "",
    buildId: text(json.buildID) ?? "",
    names: texts(json.names),
    buildStatus: state(json.buildStatus),
    filesMissing: json.filesMissing === true,
    isPublic: json.public === true,
    cpuCount: Number(json.cpuCount ?? 0),
    memoryMB: Number(json.memoryMB ?? 0),
    diskSizeMB: Number(json.diskSizeMB ?? 0),
    createdAt: date(json.createdAt),
    updatedAt: date(json.updatedAt),
    lastUsedAt: text(json.lastSpawnedAt) === undefined ? undefined : date(json.lastSpawnedAt),
    useCount: Number(json.spawnCount ?? 0),
    buildCount: Number(json.buildCount ?? 0),
    ...(Array.isArray(json.builds) && { builds: json.builds.map(listedBuild) }),
    envdVersion: text(json.envdVersion) ?? "",
    retention: (json.retention ?? {}) as Retention,
    maxResources: (json.maxResources ?? {}) as SandboxResources,
    idleTimeoutMs: json.idleTimeout ? Number(json.idleTimeout) * 1000 : undefined,
  };
}

function listedBuild(value: unknown): TemplateBuild {
  const json = unchecked<wire.TemplateBuild>(value);
  const deleteAt = text(json.deleteAt) === undefined ? {} : { deleteAt: date(json.deleteAt) };
  return { buildId: text(json.buildID) ?? "", status: state(json.status), createdAt: date(json.createdAt), ...deleteAt };
}

export function tagFromJson(value: unknown): TemplateTag {
  const json = unchecked<wire.TemplateTag>(value);
  return { tag: text(json.tag) ?? "", buildId: text(json.buildID) ?? "", createdAt: date(json.createdAt) };
}
