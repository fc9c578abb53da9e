import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError, type Clock, type TeamId, type TemplateId } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { z } from "zod";
import { DEFAULT_TEAM } from "../keys/first-key.ts";
import type { Store, TemplateRecord, TemplateSettings, TemplateVersion } from "../store/index.ts";
import { isBuildId, parseTemplateReference, type TemplateReference } from "./reference.ts";

export const DEFAULT_TAG = "default";
export const DEFAULT_DISK_MB = 10240;

/** A template file as set-up writes it into `$BOXYARD_DATA/templates`. */
const TemplateFile = z.object({
  version: z.literal(1),
  name: z.string().regex(/^[a-z0-9_-]{1,128}$/),
  image: z.object({ digest: z.string().min(1), layers: z.array(z.string()) }),
  cpuCount: z.number().positive().default(2),
  memoryMB: z.int().min(128).default(1024),
  diskMB: z.int().positive().optional(),
  env: z.record(z.string(), z.string()).default({}),
  user: z.string().default("user"),
  workdir: z.string().default("/home/user"),
});

/** A template with the tags that can be started from. */
export interface Template {
  readonly record: TemplateRecord;
  readonly versions: readonly TemplateVersion[];
  /** Builds that no tag points to any more, and whose files are kept for a while. A reference has the build's id in place of a tag. */
  readonly untagged: readonly TemplateVersion[];
}

/** Names that clients have built in, and the templates that they mean here (docs/decisions.md, Names that clients ask for). */
const ALSO_CALLED: Readonly<Record<string, string>> = { "code-interpreter-v1": "code-interpreter" };

/** Templates that come with Boxyard and are built on demand. */
const ON_DEMAND: ReadonlySet<string> = new Set(["code-interpreter", "mcp-gateway"]);

/** Whether a template's versions are snapshots of sandboxes. */
export const isOfSnapshots = ({ record }: Pick<Template, "record">): boolean => record.kind === "snapshot";

function templateNotFound(text: string): AppError {
  const name = text.trim().toLowerCase();
  const shipped = Object.hasOwn(ALSO_CALLED, name) ? ALSO_CALLED[name] : name;
  const hint = shipped !== undefined && ON_DEMAND.has(shipped) ? `; \`boxyard template rebuild ${shipped}\` on the server makes it` : "";
  return new AppError("not_found", `template '${text.slice(0, 200)}' not found${hint}`, { reason: "template_not_found" });
}

function tagNotFound({ record }: Template, tag: string): AppError {
  if (isBuildId(tag)) {
    const text = `template '${record.name ?? record.id}' has no build '${tag}' to start from; files of builds without a tag are removed after a while`;
    return new AppError("not_found", text, { reason: "build_not_found" });
  }
  return new AppError("not_found", `tag '${tag}' does not exist for template '${record.name ?? record.id}'`, { reason: "tag_not_found" });
}

/** The version that a tag means, or the id of a build in a tag's place (docs/contract/templates.md, Names and tags). */
function versionAt({ versions, untagged }: Template, tag: string): TemplateVersion | undefined {
  if (!isBuildId(tag)) return versions.find((version) => version.tag === tag);
  return [...versions, ...untagged].find((version) => version.buildId === tag);
}

/** The store's templates, in memory, because every create looks a name up. */
export class Templates {
  private readonly store: Store;
  private readonly clock: Clock;
  /** Layers of the template files. They are kept wherever tags point: builds on them, and a new seed, need them. */
  readonly shippedLayers = new Set<string>();
  private byId = new Map<TemplateId, Template>();
  /** Ids of the templates of each name, in their order. */
  private byName = new Map<string, TemplateId[]>();
  /** The last read that was asked for. `next` is the same read as long as that has not begun. */
  private last: Promise<void> = Promise.resolve();
  private next: Promise<void> | undefined;

  constructor(store: Store, clock: Clock) {
    this.store = store;
    this.clock = clock;
  }

  /**
   * Reads the store again; to be called after a change of several templates (`refresh`: of one). Reads run one after the other, and each caller gets a read that begins after its call:
   * of two reads at once the older could end last, and restore the values of before a change.
   */
  load(): Promise<void> {
    this.next ??= this.last = this.last
      .catch(() => {})
      .then(() => {
        this.next = undefined;
        return this.read();
      });
    return this.next;
  }

  private async read(): Promise<void> {
    const { templates } = this.store;
    const [records, ...found] = await Promise.all([templates.list(), templates.listVersions(), templates.listUntagged()]);
    const [tagged, untagged] = found.map((versions) => Map.groupBy(versions, (version) => version.templateId));
    const of = (id: TemplateId) => ({ versions: tagged?.get(id) ?? [], untagged: untagged?.get(id) ?? [] });
    this.byId = new Map(records.map((record) => [record.id, { record, ...of(record.id) }]));
    const named = records.filter(({ name }) => name !== undefined);
    this.byName = new Map([...Map.groupBy(named, ({ name }) => name ?? "")].map(([name, of]) => [name, of.map(({ id }) => id)]));
  }

  /** Reads one template of the store again, in the order of all reads; to be called after every change of it, also after its removal. */
  refresh(id: TemplateId): Promise<void> {
    this.last = this.last.catch(() => {}).then(() => this.readOne(id));
    return this.last;
  }

  private async readOne(id: TemplateId): Promise<void> {
    const found = await this.store.templates.find(id);
    const name = (found ?? this.byId.get(id))?.record.name;
    if (found) this.byId.set(id, found);
    else this.byId.delete(id);
    if (name === undefined) return;
    const others = (this.byName.get(name) ?? []).filter((other) => other !== id);
    if (found) this.byName.set(name, [...others, id].sort());
    else if (others.length > 0) this.byName.set(name, others);
    else this.byName.delete(name);
  }

  /**
   * The template that a name or id means to a team: the team's own first, then public ones. Throws `not_found`: reason `template_not_found`, also for
   * a private template of another team; `tag_not_found` for a tag that the template does not have; `build_not_found` for a build whose files are gone.
   */
  find(teamId: TeamId, text: string, field?: string): Template {
    const found = this.findAnyTag(teamId, text, field);
    const { tag } = parseTemplateReference(text, field);
    if (tag !== undefined && tag !== DEFAULT_TAG && !versionAt(found, tag)) throw tagNotFound(found, tag);
    return found;
  }

  private findAnyTag(teamId: TeamId, text: string, field?: string): Template {
    const reference = parseTemplateReference(text, field);
    const meant = Object.hasOwn(ALSO_CALLED, reference.name) ? ALSO_CALLED[reference.name] : undefined;
    const found = this.usable(teamId, reference) ?? (meant === undefined ? undefined : this.usable(teamId, { ...reference, name: meant }));
    if (!found) throw templateNotFound(text);
    return found;
  }

  private usable(teamId: TeamId, { namespace, name }: TemplateReference): Template | undefined {
    const matching = this.called(name).filter(({ record }) => namespace === undefined || record.namespace === namespace);
    const usable = matching.filter(({ record }) => record.teamId === teamId || record.isPublic);
    const rank = ({ record }: Template) => (record.teamId === teamId ? 0 : record.namespace === DEFAULT_TEAM ? 1 : 2);
    return usable.sort((a, b) => rank(a) - rank(b))[0];
  }

  /** As `find`, for a template that the team may change. Throws `permission_denied` for a public template of another team. */
  findOwn(teamId: TeamId, text: string, field?: string): Template {
    const found = this.find(teamId, text, field);
    if (found.record.teamId !== teamId) {
      throw new AppError("permission_denied", `The template '${text.slice(0, 200)}' belongs to another team`, { reason: "not_yours" });
    }
    return found;
  }

  /** The version that a reference means. Throws `not_found` (reasons as `find`) or `invalid_argument`. */
  resolve(teamId: TeamId, text: string, field?: string): TemplateVersion {
    const { tag = DEFAULT_TAG } = parseTemplateReference(text, field);
    const template = this.find(teamId, text, field);
    const found = versionAt(template, tag);
    if (!found) throw tagNotFound(template, tag);
    return found;
  }

  settingsOf(id: TemplateId): TemplateSettings {
    return this.byId.get(id)?.record.settings ?? {};
  }

  all(): Template[] {
    return [...this.byId.values()];
  }

  get(id: TemplateId): Template | undefined {
    return this.byId.get(id);
  }

  isTagged(id: TemplateId, buildId: string | undefined): boolean {
    return this.byId.get(id)?.versions.some((version) => version.buildId === buildId) ?? false;
  }

  /** The template of a team that has this name. */
  named(teamId: TeamId, name: string): Template | undefined {
    return this.called(name).find(({ record }) => record.teamId === teamId && record.name === name);
  }

  /** Templates whose name or id this is. */
  private called(nameOrId: string): Template[] {
    const ids = new Set([...(this.byName.get(nameOrId) ?? []), nameOrId as TemplateId]);
    return [...ids].flatMap((id) => this.byId.get(id) ?? []);
  }

  /** Templates of a team, oldest first. */
  ofTeam(teamId: TeamId): Template[] {
    const own = [...this.byId.values()].filter(({ record }) => record.teamId === teamId);
    return own.sort((a, b) => a.record.createdAt - b.record.createdAt || (a.record.id < b.record.id ? -1 : 1));
  }

  /** Whether `name` is the id of a template. Ids may not be used as names. */
  isId(name: string): boolean {
    return this.byId.has(name as TemplateId);
  }

  /** Ids of the templates that a filter by id or name means; none if there is no such template. */
  idsFor(nameOrId: string): Set<string> {
    const idsOf = (wanted: string) => this.called(wanted).map(({ record }) => record.id as string);
    const found = idsOf(nameOrId);
    const meant = Object.hasOwn(ALSO_CALLED, nameOrId) ? ALSO_CALLED[nameOrId] : undefined;
    return new Set(found.length > 0 || meant === undefined ? found : idsOf(meant));
  }

  /** Counts a sandbox that was made from the template. Does not wait for the store, and ignores its errors: a create must not fail for the count. */
  countSpawn(id: TemplateId, buildId: string | undefined): void {
    const now = this.clock.now();
    const found = this.byId.get(id);
    if (found) {
      const record = { ...found.record, spawnCount: found.record.spawnCount + 1, lastSpawnedAt: now };
      this.byId.set(id, { ...found, record });
    }
    // In a later turn: the answer of the create goes out first.
    setImmediate(() => void this.store.templates.countSpawn(id, now).catch(() => {}));
    const untagged = found?.untagged.find((version) => version.buildId === buildId);
    if (untagged) void this.store.templates.useUntagged(untagged.buildId, now).catch(() => {});
  }

  /** Puts the template files of the data directory into the store. A file that cannot be read is logged and left out. */
  async seed(directory: string, teamId: TeamId, logger: Logger): Promise<void> {
    const names = await readdir(directory).catch(() => [] as string[]);
    for (const name of names.filter((n) => n.endsWith(".json")).sort()) {
      try {
        const {
          version: _version,
          name: template,
          diskMB = DEFAULT_DISK_MB,
          ...rest
        } = TemplateFile.parse(JSON.parse(await readFile(join(directory, name), "utf8")));
        for (const layer of rest.image.layers) this.shippedLayers.add(layer);
        await this.store.templates.put(teamId, template, DEFAULT_TAG, { ...rest, diskMB }, this.clock.now());
      } catch (error) {
        logger.error({ err: error, file: name }, "template file left out");
      }
    }
    await this.load();
  }
}
