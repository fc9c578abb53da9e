import type { TeamId, TemplateId } from "@boxyard/core";
import type {
  BuildChange,
  BuildLogLevel,
  BuildLogLine,
  BuildRecord,
  BuildStatus,
  CachedResult,
  TagAssignment,
  TemplateKind,
  TemplateRecord,
  TemplateSettings,
  TemplateSpec,
  TemplateVersion,
} from "./records.ts";

/** Templates, builds and the cache of build steps. As in `Store`, a `kill -9` between two calls leaves a state that the next server can handle. */
export interface TemplateStore {
  /**
   * Makes `tag` of the template `name` point to a new, ready build of `spec`. Does nothing if the template has a build of this spec already, so that
   * later changes of its tags stay. A template without builds becomes public.
   */
  put(teamId: TeamId, name: string, tag: string, spec: TemplateSpec, now: number): Promise<void>;
  /** Every tag whose build has a spec that sandboxes can start from. */
  listVersions(): Promise<TemplateVersion[]>;
  /** Builds that no tag points to any more and that are still cached. Each has its id as its tag. */
  listUntagged(): Promise<TemplateVersion[]>;
  /** Gives up a build that no tag points to, as the bound of the cache of builds does; its layers go with the next tidying. Repeatable. */
  removeUntagged(buildId: string): Promise<void>;
  /** Notes the use of a build without a tag, which is kept for longer then. */
  useUntagged(buildId: string, now: number): Promise<void>;

  /** Adds a template. If the team has one of this name, returns that one. Throws `already_exists`, reason `name_taken`, if that is of another kind. */
  add(template: NewTemplate): Promise<TemplateRecord>;
  /** A template with its versions and its builds without a tag; undefined if there is none. */
  find(id: TemplateId): Promise<FoundTemplate | undefined>;
  /** Every template, ordered by id. */
  list(): Promise<TemplateRecord[]>;
  setPublic(id: TemplateId, isPublic: boolean, now: number): Promise<void>;
  /** Replaces the settings of a template. Does nothing if there is none. */
  setSettings(id: TemplateId, settings: TemplateSettings, now: number): Promise<void>;
  /** Counts a sandbox that was made from the template. */
  countSpawn(id: TemplateId, now: number): Promise<void>;
  /** Removes a template with its builds, tags and logs. Repeatable. */
  remove(id: TemplateId): Promise<void>;

  /**
   * Makes tags point to a build, which needs its checkpoint from now on. A build that loses its last tag by this becomes a cached result, used now, and
   * needs its checkpoint no longer. Throws `not_found`, reason `snapshot_not_found`, for a snapshot that is being removed.
   */
  assignTags(id: TemplateId, tags: readonly string[], buildId: string, now: number): Promise<void>;
  /** Removes tags. What becomes of a build that loses its last tag by this: as for `assignTags`. */
  removeTags(id: TemplateId, tags: readonly string[], now: number): Promise<void>;
  /** The assignments of a template's present tags, earlier ones included, to builds that are ready; newest first. */
  listAssignments(id: TemplateId): Promise<TagAssignment[]>;

  addBuild(build: BuildRecord): Promise<void>;
  getBuild(id: string): Promise<BuildRecord | undefined>;
  /** Builds of a template, newest first. */
  listBuilds(templateId: TemplateId): Promise<BuildRecord[]>;
  listBuildsIn(statuses: readonly BuildStatus[]): Promise<BuildRecord[]>;
  /** The specs of builds that some tag points to. */
  listSpecs(): Promise<TemplateSpec[]>;
  /** Compare and set: changes the build only if its status is one of `from`. Returns whether it did. */
  updateBuild(id: string, from: readonly BuildStatus[], change: BuildChange): Promise<boolean>;

  /** Adds lines to a build's log. `place`: the number of lines that the log has already. */
  addLogs(buildId: string, place: number, lines: readonly BuildLogLine[]): Promise<void>;
  /** Oldest first. */
  readLogs(buildId: string, options: LogLines): Promise<BuildLogLine[]>;
  /** Lines from the time `cursor` on, oldest first (`forward`), or up to that time, newest first (`backward`). */
  readLogsAt(buildId: string, options: LogsAt): Promise<BuildLogLine[]>;

  /** Removes the logs of builds that ended before `time` and that no tag points to. */
  pruneLogs(time: number): Promise<void>;

  /** The cached result of a build step, JSON. Reading counts as use. */
  getCached(key: string, now: number): Promise<string | undefined>;
  putCached(key: string, result: string, now: number): Promise<void>;
  /** All cached results, the newest use first. */
  listCached(): Promise<CachedResult[]>;
  removeCached(keys: readonly string[]): Promise<void>;
  /** Removes results whose last use was before `time`. */
  pruneCached(time: number): Promise<void>;
}

export interface NewTemplate {
  readonly id: TemplateId;
  readonly teamId: TeamId;
  readonly name?: string;
  /** `template` by default. */
  readonly kind?: TemplateKind;
  readonly now: number;
}

/** A template with what `listVersions` and `listUntagged` have of it. */
export interface FoundTemplate {
  readonly record: TemplateRecord;
  readonly versions: readonly TemplateVersion[];
  readonly untagged: readonly TemplateVersion[];
}

/** The lines of a log of at least `minLevel`: `limit` lines behind the first `offset`. */
export interface LogLines {
  readonly offset: number;
  readonly limit: number;
  readonly minLevel: BuildLogLevel;
}

/** A page of a log by time; `cursor` in milliseconds since 1970. */
export interface LogsAt {
  readonly cursor?: number;
  readonly direction: "forward" | "backward";
  readonly limit: number;
  readonly minLevel: BuildLogLevel;
}
