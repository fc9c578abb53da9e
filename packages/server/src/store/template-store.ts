import type { TeamId, TemplateId } from "@boxyard/core";
import type {
  BuildChange,
  BuildLogLevel,
  BuildLogLine,
  BuildRecord,
  BuildStatus,
  CachedResult,
  TagAssignment,
  TemplateRecord,
  TemplateSpec,
  TemplateVersion,
} from "./records.ts";

/** Templates, builds and what builds remember. As in `Store`, a `kill -9` between two calls leaves a state that start-up understands. */
export interface TemplateStore {
  /**
   * Makes `tag` of the template called `name` point to a ready build of `spec`, unless the template has had such a build: then whatever was
   * done to its tags since stays. A template that has no builds yet becomes public.
   */
  put(teamId: TeamId, name: string, tag: string, spec: TemplateSpec, now: number): Promise<void>;
  /** Every tag whose build has something to start from. */
  listVersions(): Promise<TemplateVersion[]>;
  /** Builds that no tag points to any more and that are still cached, with their ids as tags. */
  listUntagged(): Promise<TemplateVersion[]>;
  /** One of them is used, and so kept for longer. */
  useUntagged(buildId: string, now: number): Promise<void>;

  /** Adds a template. A name that the team uses already gives that template instead. */
  add(template: { id: TemplateId; teamId: TeamId; name?: string; now: number }): Promise<TemplateRecord>;
  /** Every template there is, by id. */
  list(): Promise<TemplateRecord[]>;
  setPublic(id: TemplateId, isPublic: boolean, now: number): Promise<void>;
  countSpawn(id: TemplateId, now: number): Promise<void>;
  /** Removes a template with its builds, tags and logs. Repeatable. */
  remove(id: TemplateId): Promise<void>;

  /** Makes tags point to a build. A build that no tag points to any more becomes a cached result, used now. */
  assignTags(id: TemplateId, tags: readonly string[], buildId: string, now: number): Promise<void>;
  /** Makes tags point to nothing. */
  removeTags(id: TemplateId, tags: readonly string[], now: number): Promise<void>;
  /** What the tags that a template has point to and have pointed to, as far as those builds are ready; newest first. */
  listAssignments(id: TemplateId): Promise<TagAssignment[]>;

  addBuild(build: BuildRecord): Promise<void>;
  getBuild(id: string): Promise<BuildRecord | undefined>;
  /** Builds of a template, newest first. */
  listBuilds(templateId: TemplateId): Promise<BuildRecord[]>;
  listBuildsIn(statuses: readonly BuildStatus[]): Promise<BuildRecord[]>;
  /** What the builds that some tag points to have to start from; the others can't be started any more. */
  listSpecs(): Promise<TemplateSpec[]>;
  /** Compare and set: changes the build only if its status is one of `from`; says whether it did. */
  updateBuild(id: string, from: readonly BuildStatus[], change: BuildChange): Promise<boolean>;

  /** Adds lines from `place` (0 is the first) on. */
  addLogs(buildId: string, place: number, lines: readonly BuildLogLine[]): Promise<void>;
  /** Lines of at least `minLevel` in their order, `offset` of them left out. */
  readLogs(buildId: string, options: { offset: number; limit: number; minLevel: BuildLogLevel }): Promise<BuildLogLine[]>;
  /** Lines from a time on (`forward`), or up to it, newest first. */
  readLogsAt(buildId: string, options: LogsAt): Promise<BuildLogLine[]>;

  /** Forgets the logs of builds that ended before `time`, but those that some tag points to. */
  pruneLogs(time: number): Promise<void>;

  /** What a build step came to, JSON; reading it counts as use. */
  getCached(key: string, now: number): Promise<string | undefined>;
  putCached(key: string, result: string, now: number): Promise<void>;
  /** All of it, what was used last first. */
  listCached(): Promise<CachedResult[]>;
  removeCached(keys: readonly string[]): Promise<void>;
  /** Forgets results that were last used before `time`. */
  pruneCached(time: number): Promise<void>;
}

export interface LogsAt {
  readonly cursor?: number;
  readonly direction: "forward" | "backward";
  readonly limit: number;
  readonly minLevel: BuildLogLevel;
}
