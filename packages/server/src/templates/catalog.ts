import { AppError, type Clock, newBuildId, newTemplateId, type TeamId, type TemplateId } from "@boxyard/core";
import type { NewTemplate, TemplateChange } from "@boxyard/spec/platform";
import { limitMet } from "../limit-met.ts";
import type { BuildRecord, Store, TemplateRecord, TemplateSettings, TemplateVersion } from "../store/index.ts";
import { ownName } from "./own-name.ts";
import { parseTag, parseTemplateReference } from "./reference.ts";
import { inUse, type SnapshotCatalog } from "./snapshots/snapshot-catalog.ts";
import { DEFAULT_DISK_MB, DEFAULT_TAG, isOfSnapshots, type Template, type Templates } from "./templates.ts";

export const DEFAULT_CPU_COUNT = 2;
const DEFAULT_MEMORY_MB = 1024;
/** Most builds of one team that were requested and not started. */
const MAX_WAITING = 500;

export interface CatalogDeps {
  readonly store: Store;
  readonly templates: Templates;
  readonly snapshots: SnapshotCatalog;
  readonly clock: Clock;
  /** Ids of the sandboxes, running or paused, that were made from a template. */
  readonly usersOf: (id: TemplateId) => readonly string[];
  /** To be called when versions were deleted; removes the checkpoints that nothing needs any more. */
  readonly released: () => Promise<void>;
  /** Ends the builds of a template that have not ended. */
  readonly endBuilds: (id: TemplateId) => Promise<void>;
  /** Throws `resource_exhausted` when a team may not have so many templates. */
  readonly checkTemplates: (teamId: TeamId, amount: number) => void;
  /** Namespace of a team. */
  readonly slugOf: (teamId: TeamId) => Promise<string>;
}

/** What a request asks of a build. */
interface Asked {
  readonly wanted: NewTemplate;
  readonly tags: readonly string[];
  readonly waiting: readonly BuildRecord[];
}

const refuse = (field: string, text: string, reason: string) => new AppError("invalid_argument", `${field}: ${text}`, { reason });

/** Requests, tags, publishes and deletes templates. */
export class Catalog {
  private readonly deps: CatalogDeps;

  constructor(deps: CatalogDeps) {
    this.deps = deps;
  }

  /** Registers a build of a new template, or of the team's template of that name. The client starts the build later. */
  async request(teamId: TeamId, wanted: NewTemplate): Promise<{ template: TemplateRecord; build: BuildRecord }> {
    const { store, templates, clock } = this.deps;
    const field = wanted.name === undefined ? "alias" : "name";
    const given = wanted.name ?? wanted.alias;
    const reference = given === undefined ? undefined : await ownName(this.deps, teamId, given, field);
    this.refuseSnapshots(teamId, reference?.name, field);
    const tags = tagsOf(reference?.tag, wanted.tags ?? [], field);
    const waiting = await this.waitingOf(teamId);
    const owned = templates.ofTeam(teamId);
    if (reference === undefined || !owned.some(({ record }) => record.name === reference.name))
      this.deps.checkTemplates(teamId, owned.length + 1);
    const named = reference === undefined ? {} : { name: reference.name };
    const template = await store.templates.add({ id: newTemplateId(), teamId, ...named, now: clock.now() });
    return { template, build: await this.addBuild(template, { wanted, tags, waiting }) };
  }

  /**
   * Registers another build of a template that the team has, under the tag `default`. Throws `not_found`; `permission_denied`; `invalid_argument` for an
   * alias that is not the template's name; `already_exists` for a snapshot.
   */
  async requestAgain(teamId: TeamId, text: string, wanted: NewTemplate): Promise<{ template: TemplateRecord; build: BuildRecord }> {
    const { record } = this.deps.templates.findOwn(teamId, text, "templateID");
    this.refuseSnapshots(teamId, record.name, "templateID");
    if (wanted.alias !== undefined && (await ownName(this.deps, teamId, wanted.alias, "alias")).name !== record.name) {
      throw refuse("alias", `the template's name is '${record.name ?? record.id}', and a build does not change it`, "name_stays");
    }
    const waiting = await this.waitingOf(teamId);
    return { template: record, build: await this.addBuild(record, { wanted, tags: [DEFAULT_TAG], waiting }) };
  }

  /** Builds of a team that were requested and not started. Throws `resource_exhausted` when there can be no more. */
  private async waitingOf(teamId: TeamId): Promise<BuildRecord[]> {
    const { store, templates } = this.deps;
    const all = await store.templates.listBuildsIn(["waiting"]);
    const waiting = all.filter((build) => templates.get(build.templateId)?.record.teamId === teamId);
    if (waiting.length < MAX_WAITING) return waiting;
    const advice = "start the builds that were requested, or delete their templates";
    throw limitMet({ limit: "waitingBuilds", value: MAX_WAITING, reason: "too_many_builds", advice });
  }

  /** Adds a build to a template; it replaces those of `waiting` that have the same tags. */
  private async addBuild(template: TemplateRecord, { wanted, tags, waiting }: Asked): Promise<BuildRecord> {
    const { store, templates, clock } = this.deps;
    const now = clock.now();
    const build: BuildRecord = {
      id: newBuildId(),
      templateId: template.id,
      status: "waiting",
      tags,
      resources: {
        cpuCount: wanted.cpuCount ?? DEFAULT_CPU_COUNT,
        memoryMB: wanted.memoryMB ?? DEFAULT_MEMORY_MB,
        diskMB: Math.max(wanted.diskSizeMB ?? DEFAULT_DISK_MB, wanted.minFreeDiskMb ?? 0),
      },
      createdAt: now,
      updatedAt: now,
    };
    await store.templates.addBuild(build);
    await templates.refresh(template.id);
    await this.replaceWaiting(waiting, build);
    return build;
  }

  /** Makes tags point to the build that `target` means. Throws `not_found`, `permission_denied`, `invalid_argument`. */
  async assignTags(teamId: TeamId, target: string, tags: readonly string[]): Promise<{ tags: string[]; buildId: string }> {
    const { store, templates, clock } = this.deps;
    templates.findOwn(teamId, target, "target");
    const { templateId, buildId } = templates.resolve(teamId, target, "target");
    const parsed = unique(tags.map((tag, i) => parseTag(tag, `tags.${i}`)));
    await store.templates.assignTags(templateId, parsed, buildId, clock.now());
    await templates.refresh(templateId);
    return { tags: parsed, buildId };
  }

  /** Removes tags of a template, but not `default`, which a name without a tag means. Throws `not_found`, `permission_denied`, `invalid_argument`. */
  async removeTags(teamId: TeamId, name: string, tags: readonly string[]): Promise<void> {
    const { store, templates } = this.deps;
    if (parseTemplateReference(name, "name").tag !== undefined) throw refuse("name", "must not have a tag", "invalid_template_reference");
    const template = templates.findOwn(teamId, name, "name");
    const { record, versions } = template;
    const parsed = unique(tags.map((tag, i) => parseTag(tag, `tags.${i}`)));
    if (parsed.includes(DEFAULT_TAG)) throw refuse("tags", `the tag '${DEFAULT_TAG}' cannot be removed`, "invalid_tag");
    const absent = parsed.find((tag) => !versions.some((version) => version.tag === tag));
    if (absent !== undefined) {
      throw new AppError("not_found", `tag '${absent}' does not exist for template '${record.name ?? record.id}'`, {
        reason: "tag_not_found",
      });
    }
    // A snapshot ends with its last tag; else a template without versions would be left.
    const isLast = versions.every((version) => parsed.includes(version.tag));
    if (isLast && isOfSnapshots(template)) return this.deps.snapshots.remove(template, undefined);
    await store.templates.removeTags(record.id, parsed, this.deps.clock.now());
    await templates.refresh(record.id);
  }

  /** Makes a template public or private, and replaces those of its settings that are given. Throws `not_found`, `permission_denied`. */
  async update(teamId: TeamId, text: string, { public: isPublic, ...given }: TemplateChange): Promise<TemplateRecord> {
    const { store, templates, clock } = this.deps;
    const { record } = templates.findOwn(teamId, text);
    if (isPublic !== undefined && isPublic !== record.isPublic) {
      await store.templates.setPublic(record.id, isPublic, clock.now());
      await templates.refresh(record.id);
    }
    if (Object.keys(given).length > 0) {
      await store.templates.setSettings(record.id, { ...record.settings, ...given } as TemplateSettings, clock.now());
      await templates.refresh(record.id);
    }
    return templates.get(record.id)?.record ?? record;
  }

  /**
   * Deletes a template with its builds, or a snapshot (`SnapshotCatalog.remove`). Throws `not_found`; `permission_denied`; `invalid_argument` for a
   * reference with a tag; `failed_precondition`, reason `template_in_use`, with the sandboxes that use the template.
   */
  async remove(teamId: TeamId, text: string): Promise<void> {
    const { store, templates, usersOf, endBuilds } = this.deps;
    const template = templates.findOwn(teamId, text);
    const { record } = template;
    const { tag } = parseTemplateReference(text);
    if (isOfSnapshots(template)) return this.deps.snapshots.remove(template, tag);
    if (tag !== undefined) {
      const name = record.name ?? record.id;
      const message = `templateID: '${tag}' is a tag; DELETE /templates/tags removes it, and DELETE /templates/${name} the template with all its tags`;
      throw new AppError("invalid_argument", message, { reason: "invalid_template_reference" });
    }
    const users = usersOf(record.id);
    if (users.length > 0) throw inUse("template", users);
    await endBuilds(record.id);
    await store.templates.remove(record.id);
    await templates.refresh(record.id);
    await this.deps.released();
  }

  private refuseSnapshots(teamId: TeamId, name: string | undefined, field: string): void {
    const found = name === undefined ? undefined : this.deps.templates.named(teamId, name);
    if (!found || !isOfSnapshots(found)) return;
    throw new AppError("already_exists", `${field}: '${name}' is the name of a snapshot; a template needs another`, {
      reason: "name_taken",
    });
  }

  /** A newer request replaces earlier requests for the same tags that were not started. */
  private async replaceWaiting(waiting: readonly BuildRecord[], by: BuildRecord): Promise<void> {
    const { store, clock } = this.deps;
    for (const build of waiting) {
      if (build.templateId !== by.templateId || !build.tags.every((tag) => by.tags.includes(tag))) continue;
      const now = clock.now();
      const reason = { message: "Another build of the same template and tags was requested" };
      await store.templates.updateBuild(build.id, ["waiting"], { status: "error", reason, updatedAt: now, finishedAt: now });
    }
  }
}

/** The tags of a build: the one in the name and those in the list, each once; `default` when there is none. */
function tagsOf(inName: string | undefined, listed: readonly string[], field: string): string[] {
  const parsed = listed.map((tag, i) => parseTag(tag, `tags.${i}`));
  const named = inName === undefined ? [] : [parseTag(inName, field)];
  const tags = unique([...named, ...parsed]);
  return tags.length > 0 ? tags : [DEFAULT_TAG];
}

const unique = (tags: readonly string[]) => [...new Set(tags)];

/** The version that lists show for a template: the default one, else the newest. */
export function mainVersion({ versions }: Template): TemplateVersion | undefined {
  return versions.find(({ tag }) => tag === DEFAULT_TAG) ?? [...versions].sort((a, b) => b.assignedAt - a.assignedAt)[0];
}
