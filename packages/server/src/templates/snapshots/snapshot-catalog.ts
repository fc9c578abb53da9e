import { AppError, type Clock, newBuildId, newTemplateId, type TeamId } from "@boxyard/core";
import type { ListedSnapshot, SnapshotFilter, SnapshotName } from "../../sandboxes/ports.ts";
import {
  resourcesOf,
  type SandboxRecord,
  type SnapshotOrigin,
  type Store,
  type TemplateSpec,
  type TemplateVersion,
} from "../../store/index.ts";
import { type OwnNameDeps, ownName } from "../own-name.ts";
import { parseTemplateReference } from "../reference.ts";
import { DEFAULT_TAG, isOfSnapshots, type Template } from "../templates.ts";

export interface SnapshotCatalogDeps extends OwnNameDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Ids of the sandboxes, running or paused, that were made from one of these builds. */
  readonly usersOf: (buildIds: ReadonlySet<string>) => readonly string[];
  /** Called when versions were deleted; removes the checkpoints that nothing needs any more. */
  readonly released: () => Promise<void>;
}

/** The place under which a source's environment is sealed. */
const envPlace = (snapshotId: string) => `snapshots/${snapshotId}`;

/**
 * The names of checkpoints that users keep. A snapshot is a version of a template of the kind `snapshot`, which refers to its checkpoint: so snapshots
 * are named, tagged, found and deleted as templates are, and only the list of templates leaves them out.
 */
export class SnapshotCatalog {
  private readonly deps: SnapshotCatalogDeps;

  constructor(deps: SnapshotCatalogDeps) {
    this.deps = deps;
  }

  /** Parses the name of a new snapshot. Throws `invalid_argument`; `already_exists` for the name of a template that is not of snapshots. */
  async nameFor(teamId: TeamId, text: string | undefined): Promise<SnapshotName> {
    if (text === undefined) return { tag: DEFAULT_TAG };
    const { name, tag = DEFAULT_TAG } = await ownName(this.deps, teamId, text, "name");
    const other = this.deps.templates.named(teamId, name);
    if (other && !isOfSnapshots(other)) {
      throw new AppError("already_exists", `name: '${name}' is the name of a template; a snapshot needs another`, { reason: "name_taken" });
    }
    return { name, tag };
  }

  /** Names a checkpoint, which is needed from then on. If the name has the tag already, the tag points to the new snapshot from now on. */
  async add(source: SandboxRecord, { name, tag }: SnapshotName, captured: Pick<SnapshotOrigin, "id" | "memory">): Promise<ListedSnapshot> {
    const { store, templates, clock } = this.deps;
    const { teamId } = source;
    const now = clock.now();
    const sealedEnv = store.seal(JSON.stringify(source.facts.envVars), envPlace(captured.id));
    const { volumes, secretEnv } = source.facts;
    const more = { ...(volumes && { volumes }), ...(secretEnv && { secretEnv }) };
    const spec = specOf(source, { ...captured, sandboxId: source.id, sealedEnv, ...more });
    const { cpuCount, memoryMB, diskMB } = spec;
    const buildId = newBuildId();
    const templateId = await store.transaction(async (tx) => {
      const template = await tx.templates.add({ id: newTemplateId(), teamId, kind: "snapshot", ...(name !== undefined && { name }), now });
      const dates = { createdAt: now, updatedAt: now, startedAt: now, finishedAt: now };
      const build = { id: buildId, templateId: template.id, status: "ready" as const, tags: [tag], spec, ...dates };
      await tx.templates.addBuild({ ...build, resources: { cpuCount, memoryMB, diskMB } });
      await tx.templates.assignTags(template.id, [tag], buildId, now);
      return template.id;
    });
    await templates.refresh(templateId);
    const made = templates.get(templateId)?.versions.find((version) => version.buildId === buildId);
    if (!made)
      throw new AppError("aborted", "The snapshot was deleted while it was being made; make another", { reason: "snapshot_not_found" });
    return listed([made]);
  }

  /** The `envVars` of the sandbox that was captured; none for a version that is not a snapshot of this data directory. */
  envOf({ snapshot }: TemplateSpec): Readonly<Record<string, string>> {
    const text = snapshot && this.deps.store.unseal(snapshot.sealedEnv, envPlace(snapshot.id));
    return text === undefined ? {} : JSON.parse(text);
  }

  /** A team's snapshots that match a filter, each with those of its tags that match, in no order. */
  list(teamId: TeamId, { sandboxId, name }: SnapshotFilter): ListedSnapshot[] {
    const matches = name === undefined ? () => true : matcherOf(name);
    const found = this.deps.templates
      .ofTeam(teamId)
      .filter(isOfSnapshots)
      .flatMap(({ versions }) => [...Map.groupBy(versions.filter(isSnapshot), ({ buildId }) => buildId).values()]);
    return found
      .filter(([first]) => sandboxId === undefined || first?.spec.snapshot?.sandboxId === sandboxId)
      .map((tags) => tags.filter(matches))
      .filter((tags) => tags.length > 0)
      .map(listed);
  }

  /**
   * Deletes the snapshot that a tag or build id means, with all its tags; without a tag, all snapshots of the template. Throws `failed_precondition`,
   * reason `template_in_use`, with the sandboxes that were made from them.
   */
  async remove({ record, versions }: Template, tag: string | undefined): Promise<void> {
    const { store, templates, usersOf, released, clock } = this.deps;
    const meant = tag === undefined ? versions : versions.filter((version) => version.tag === tag || version.buildId === tag);
    const builds = new Set(meant.map(({ buildId }) => buildId));
    const users = usersOf(builds);
    if (users.length > 0) throw inUse("snapshot", users);
    const going = versions.filter(({ buildId }) => builds.has(buildId));
    if (going.length === versions.length) await store.templates.remove(record.id);
    else {
      await store.templates.removeTags(
        record.id,
        going.map((version) => version.tag),
        clock.now(),
      );
    }
    await templates.refresh(record.id);
    await released();
  }
}

/** The error for the deletion of a template or snapshot that these sandboxes use. */
export function inUse(what: "template" | "snapshot", users: readonly string[]): AppError {
  const shown = users.length > 5 ? `${users.slice(0, 5).join(", ")} and ${users.length - 5} more` : users.join(", ");
  return new AppError("failed_precondition", `The ${what} is in use by the sandboxes ${shown}; end them first`, {
    reason: "template_in_use",
    details: { sandboxes: users },
  });
}

const isSnapshot = ({ spec }: TemplateVersion) => spec.snapshot !== undefined;

/** The spec of a snapshot: that of the captured sandbox, with its resources and restrictions. */
function specOf(record: SandboxRecord, snapshot: SnapshotOrigin): TemplateSpec {
  const resources = resourcesOf(record);
  const { image, user, workdir, templateEnv, commands, restrictions } = record.facts;
  return {
    image,
    cpuCount: resources.cpuCount,
    memoryMB: Math.round(resources.memoryBytes / 2 ** 20),
    diskMB: Math.round(resources.diskBytes / 2 ** 20),
    env: templateEnv ?? {},
    user,
    workdir,
    ...commands,
    ...(restrictions && { restrictions }),
    snapshot,
  };
}

/** The listed form of one snapshot, of these of its tags. */
function listed(tags: readonly TemplateVersion[]): ListedSnapshot {
  const [first] = [...tags].sort((a, b) => a.assignedAt - b.assignedAt);
  if (!first?.spec.snapshot) throw new AppError("internal", "A snapshot without a tag", { reason: "no_snapshot" });
  const nameOf = ({ namespace, name }: TemplateVersion) => `${namespace}/${name}`;
  const hasName = first.name !== first.templateId;
  return {
    id: `${hasName ? nameOf(first) : first.templateId}:${first.tag}`,
    names: hasName ? tags.map((version) => nameOf(version) + (version.tag === DEFAULT_TAG ? "" : `:${version.tag}`)) : [],
    sandboxId: first.spec.snapshot.sandboxId,
    checkpointId: first.spec.snapshot.id,
    buildId: first.buildId,
    createdAt: first.assignedAt,
    volumes: first.spec.snapshot.volumes,
  };
}

function matcherOf(text: string): (version: TemplateVersion) => boolean {
  const { namespace, name, tag } = parseTemplateReference(text, "name");
  return (version) =>
    (version.name === name || version.templateId === name) &&
    (namespace === undefined || version.namespace === namespace) &&
    (tag === undefined || version.tag === tag || version.buildId === tag);
}
