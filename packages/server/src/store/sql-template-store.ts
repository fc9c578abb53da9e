import { AppError, newBuildId, newTemplateId, type TeamId, type TemplateId } from "@boxyard/core";
import { referToBuild, releaseTemplate, releaseUntagged } from "./checkpoint-references.ts";
import type {
  BuildChange,
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
import type { Session } from "./session.ts";
import { SqlTagHistory } from "./sql-tag-history.ts";
import { SqlTemplateVersions } from "./sql-template-versions.ts";
import { num, type Row, text } from "./sql-values.ts";
import { buildOf, changedBuildColumns, checkpointIn, lineOf, rank, templateOf } from "./template-rows.ts";
import type { FoundTemplate, LogLines, LogsAt, NewTemplate, TemplateStore } from "./template-store.ts";
import { keepUntagged, UNTAGGED } from "./untagged-builds.ts";

/** Templates on SQL, for `SqlStore`. */
export class SqlTemplateStore implements TemplateStore {
  private readonly session: Session;
  private readonly history: SqlTagHistory;
  private readonly versions: SqlTemplateVersions;

  constructor(session: Session) {
    this.session = session;
    this.history = new SqlTagHistory(session);
    this.versions = new SqlTemplateVersions(session);
  }

  async put(teamId: TeamId, name: string, tag: string, spec: TemplateSpec, now: number): Promise<void> {
    await this.session.transaction(async (tx) => {
      const inside = new SqlTemplateStore(tx);
      const { id } = await inside.add({ id: newTemplateId(), teamId, name, now });
      const specText = JSON.stringify(spec);
      const builds = (await tx.sql`SELECT spec = ${specText} AS same FROM template_builds WHERE template_id = ${id}`) as Row[];
      if (builds.some(({ same }) => num(same) === 1)) return;
      if (builds.length === 0) await inside.setPublic(id, true, now);
      const { cpuCount, memoryMB, diskMB } = spec;
      const build = { id: newBuildId(), templateId: id, status: "ready" as const, tags: [tag], resources: { cpuCount, memoryMB, diskMB } };
      await inside.addBuild({ ...build, spec, createdAt: now, updatedAt: now, finishedAt: now });
      await inside.assignTags(id, [tag], build.id, now);
    });
  }

  listVersions(): Promise<TemplateVersion[]> {
    return this.versions.tagged();
  }

  listUntagged(): Promise<TemplateVersion[]> {
    return this.versions.untagged();
  }

  find(id: TemplateId): Promise<FoundTemplate | undefined> {
    return this.versions.of(id);
  }

  removeUntagged(buildId: string): Promise<void> {
    return this.removeCached([UNTAGGED + buildId]);
  }

  async useUntagged(buildId: string, now: number): Promise<void> {
    await this.getCached(UNTAGGED + buildId, now);
  }

  async add({ id, teamId, name, kind = "template", now }: NewTemplate): Promise<TemplateRecord> {
    const values = { id: id as string, team_id: teamId as string, name: name ?? null, kind, public: 0, created_at: now, updated_at: now };
    return this.session.transaction(async (tx) => {
      const added = await tx.sql`INSERT INTO templates ${tx.sql(values)} ON CONFLICT (team_id, name) DO NOTHING RETURNING id`;
      if (added.length === 1) tx.record({ action: "template.created", targetId: id, teamId, after: name === undefined ? {} : { name } });
      const [row] = await tx.sql`SELECT t.*, s.slug FROM templates t JOIN teams s ON s.id = t.team_id
        WHERE t.id = ${id} OR (t.team_id = ${teamId} AND t.name = ${name ?? ""})`;
      if (row.kind !== kind) throw nameTaken(text(name), kind);
      return templateOf(row);
    });
  }

  async list(): Promise<TemplateRecord[]> {
    const rows = await this.session.sql`SELECT t.*, s.slug FROM templates t JOIN teams s ON s.id = t.team_id ORDER BY t.id`;
    return (rows as Row[]).map(templateOf);
  }

  async setPublic(id: TemplateId, isPublic: boolean, now: number): Promise<void> {
    await this.session.transaction(async (tx) => {
      const [row] = (await tx.sql`SELECT team_id, public FROM templates WHERE id = ${id}`) as Row[];
      if (!row) return;
      await tx.sql`UPDATE templates SET public = ${isPublic ? 1 : 0}, updated_at = ${now} WHERE id = ${id}`;
      const before = { isPublic: num(row.public) === 1 };
      tx.record({ action: "template.changed", targetId: id, ...teamOf(row), before, after: { isPublic } });
    });
  }

  async setSettings(id: TemplateId, settings: TemplateSettings, now: number): Promise<void> {
    await this.session.transaction(async (tx) => {
      const [row] =
        (await tx.sql`UPDATE templates SET settings = ${JSON.stringify(settings)}, updated_at = ${now} WHERE id = ${id} RETURNING team_id`) as Row[];
      if (row) tx.record({ action: "template.changed", targetId: id, ...teamOf(row), after: { ...settings } });
    });
  }

  async countSpawn(id: TemplateId, now: number): Promise<void> {
    await this.session.sql`UPDATE templates SET spawn_count = spawn_count + 1, last_spawned_at = ${now} WHERE id = ${id}`;
  }

  async remove(id: TemplateId): Promise<void> {
    await this.session.transaction(async (tx) => {
      const tags = (await tx.sql`DELETE FROM template_tags WHERE template_id = ${id} RETURNING tag, build_id`) as Row[];
      await releaseTemplate(tx, id);
      await new SqlTagHistory(tx).removeAll(id);
      await tx.sql`DELETE FROM build_cache WHERE key IN (SELECT ${UNTAGGED} || b.id FROM template_builds b WHERE b.template_id = ${id})`;
      await tx.sql`DELETE FROM build_logs WHERE build_id IN (SELECT id FROM template_builds WHERE template_id = ${id})`;
      const builds = (await tx.sql`DELETE FROM template_builds WHERE template_id = ${id} RETURNING id, status`) as Row[];
      const [row] = (await tx.sql`DELETE FROM templates WHERE id = ${id} RETURNING team_id, name`) as Row[];
      if (!row) return;
      const team = teamOf(row);
      for (const { tag, build_id: build } of tags)
        tx.record({ action: "tag.removed", targetId: `${id}:${text(tag)}`, ...team, before: { buildId: text(build) } });
      for (const { id: build, status } of builds)
        tx.record({ action: "build.removed", targetId: text(build), ...team, before: { status: text(status) } });
      tx.record({ action: "template.removed", targetId: id, ...team, before: row.name === null ? {} : { name: text(row.name) } });
    });
  }

  async assignTags(id: TemplateId, tags: readonly string[], buildId: string, now: number): Promise<void> {
    if (tags.length === 0) return;
    const rows = tags.map((tag) => ({ template_id: id as string, tag, build_id: buildId, created_at: now }));
    await this.session.transaction(async (tx) => {
      const earlier =
        (await tx.sql`SELECT tag, build_id FROM template_tags WHERE template_id = ${id} AND tag IN ${tx.sql([...tags])}`) as Row[];
      await tx.sql`INSERT INTO template_tags ${tx.sql(rows)}
        ON CONFLICT (template_id, tag) DO UPDATE SET build_id = excluded.build_id, created_at = excluded.created_at`;
      await new SqlTagHistory(tx).add(id, tags, buildId, now);
      await keepUntagged(tx, earlier, now);
      const hasCheckpoint = await referToBuild(tx, buildId);
      await releaseUntagged(tx, earlier);
      const [row] = (await tx.sql`UPDATE templates SET updated_at = ${now} WHERE id = ${id} RETURNING team_id, kind`) as Row[];
      // Sandboxes of a template can boot without the memory that its build has kept.
      if (!hasCheckpoint && row?.kind === "snapshot") throw snapshotGone();
      for (const tag of tags) {
        const was = earlier.find((other) => other.tag === tag);
        const before = was ? { before: { buildId: text(was.build_id) } } : {};
        tx.record({ action: "tag.assigned", targetId: `${id}:${tag}`, ...teamOf(row), ...before, after: { buildId } });
      }
    });
  }

  async removeTags(id: TemplateId, tags: readonly string[], now: number): Promise<void> {
    await this.session.transaction(async (tx) => {
      const removed = (await tx.sql`DELETE FROM template_tags WHERE template_id = ${id} AND tag IN ${tx.sql([...tags])}
        RETURNING tag, build_id, (SELECT team_id FROM templates WHERE templates.id = template_tags.template_id) AS team_id`) as Row[];
      await new SqlTagHistory(tx).remove(id, tags);
      await keepUntagged(tx, removed, now);
      await releaseUntagged(tx, removed);
      for (const row of removed) {
        tx.record({ action: "tag.removed", targetId: `${id}:${text(row.tag)}`, ...teamOf(row), before: { buildId: text(row.build_id) } });
      }
    });
  }

  listAssignments(id: TemplateId): Promise<TagAssignment[]> {
    return this.history.list(id);
  }

  async addBuild(build: BuildRecord): Promise<void> {
    const { id, templateId, status, createdAt, updatedAt } = build;
    const values = {
      id,
      template_id: templateId as string,
      status,
      tags: JSON.stringify(build.tags),
      resources: JSON.stringify(build.resources),
      spec: build.spec ? JSON.stringify(build.spec) : "",
      checkpoint_id: checkpointIn(build.spec),
      created_at: createdAt,
      updated_at: updatedAt,
      finished_at: build.finishedAt ?? null,
    };
    await this.session.transaction(async (tx) => {
      const [row] =
        (await tx.sql`INSERT INTO template_builds ${tx.sql(values)} RETURNING (SELECT team_id FROM templates t WHERE t.id = template_builds.template_id) AS team_id`) as Row[];
      tx.record({ action: `build.${status}`, targetId: id, ...teamOf(row), after: { status, templateId, tags: build.tags } });
    });
  }

  async getBuild(id: string): Promise<BuildRecord | undefined> {
    const [row] = await this.session.sql`SELECT * FROM template_builds WHERE id = ${id}`;
    return row ? buildOf(row) : undefined;
  }

  async listBuilds(templateId: TemplateId): Promise<BuildRecord[]> {
    const rows = await this.session.sql`SELECT * FROM template_builds WHERE template_id = ${templateId} ORDER BY created_at DESC, id`;
    return (rows as Row[]).map(buildOf);
  }

  async listBuildsIn(statuses: readonly BuildStatus[]): Promise<BuildRecord[]> {
    const rows = await this.session
      .sql`SELECT * FROM template_builds WHERE status IN ${this.session.sql([...statuses])} ORDER BY created_at`;
    return (rows as Row[]).map(buildOf);
  }

  async listSpecs(): Promise<TemplateSpec[]> {
    const rows = (await this.session.sql`SELECT spec FROM template_builds b WHERE spec <> ''
      AND EXISTS (SELECT 1 FROM template_tags t WHERE t.build_id = b.id)`) as Row[];
    return rows.map((row) => JSON.parse(text(row.spec)) as TemplateSpec);
  }

  async updateBuild(id: string, from: readonly BuildStatus[], change: BuildChange): Promise<boolean> {
    return this.session.transaction(async (tx) => {
      const [row] = (await tx.sql`UPDATE template_builds SET ${tx.sql(changedBuildColumns(change))}
        WHERE id = ${id} AND status IN ${tx.sql([...from])} RETURNING (SELECT team_id FROM templates t WHERE t.id = template_builds.template_id) AS team_id`) as Row[];
      if (!row) return false;
      const { spec: _large, ...after } = change;
      const before = change.status !== undefined && from.length === 1 ? { before: { status: from[0] } } : {};
      tx.record({ action: `build.${change.status ?? "changed"}`, targetId: id, ...teamOf(row), ...before, after });
      return true;
    });
  }

  async addLogs(buildId: string, place: number, lines: readonly BuildLogLine[]): Promise<void> {
    if (lines.length === 0) return;
    const rows = lines.map(({ at, level, step, message }, i) => {
      // PostgreSQL's text holds no NUL.
      return { build_id: buildId, place: place + i, at, level: rank(level), step: step ?? null, message: message.replaceAll("\0", "") };
    });
    await this.session.sql`INSERT INTO build_logs ${this.session.sql(rows)}`;
  }

  async readLogs(buildId: string, options: LogLines): Promise<BuildLogLine[]> {
    const rows = await this.session.sql`SELECT * FROM build_logs WHERE build_id = ${buildId} AND level >= ${rank(options.minLevel)}
      ORDER BY place LIMIT ${options.limit} OFFSET ${options.offset}`;
    return (rows as Row[]).map(lineOf);
  }

  async readLogsAt(buildId: string, { cursor, direction, limit, minLevel }: LogsAt): Promise<BuildLogLine[]> {
    const lowest = rank(minLevel);
    const rows =
      direction === "forward"
        ? await this.session.sql`SELECT * FROM build_logs WHERE build_id = ${buildId} AND level >= ${lowest} AND at >= ${cursor ?? 0}
            ORDER BY place LIMIT ${limit}`
        : await this.session.sql`SELECT * FROM build_logs WHERE build_id = ${buildId} AND level >= ${lowest}
            AND at <= ${cursor ?? Number.MAX_SAFE_INTEGER} ORDER BY place DESC LIMIT ${limit}`;
    return (rows as Row[]).map(lineOf);
  }

  async pruneLogs(time: number): Promise<void> {
    await this.session.sql`DELETE FROM build_logs WHERE build_id IN (SELECT id FROM template_builds
      WHERE finished_at < ${time} AND id NOT IN (SELECT build_id FROM template_tags))`;
  }

  async getCached(key: string, now: number): Promise<string | undefined> {
    const [row] = await this.session.sql`UPDATE build_cache SET used_at = ${now} WHERE key = ${key} RETURNING result`;
    return row ? text(row.result) : undefined;
  }

  async putCached(key: string, result: string, now: number): Promise<void> {
    await this.session.sql`INSERT INTO build_cache ${this.session.sql({ key, result, used_at: now })}
      ON CONFLICT (key) DO UPDATE SET result = excluded.result, used_at = excluded.used_at`;
  }

  async listCached(): Promise<CachedResult[]> {
    const rows = (await this.session.sql`SELECT key, result FROM build_cache ORDER BY used_at DESC, key`) as Row[];
    return rows.map((row) => ({ key: text(row.key), result: text(row.result) }));
  }

  async removeCached(keys: readonly string[]): Promise<void> {
    // A statement takes a limited number of values.
    for (let at = 0; at < keys.length; at += 500) {
      await this.session.sql`DELETE FROM build_cache WHERE key IN ${this.session.sql(keys.slice(at, at + 500))}`;
    }
  }

  async pruneCached(time: number): Promise<void> {
    await this.session.sql`DELETE FROM build_cache WHERE used_at < ${time}`;
  }
}

/** The team of a row; none if the template was removed. */
const teamOf = (row: Row | undefined) => (row?.team_id === null || row === undefined ? {} : { teamId: text(row.team_id) as TeamId });

function nameTaken(name: string, wanted: TemplateKind): AppError {
  const [of, other] = wanted === "template" ? ["snapshot", "template"] : ["template", "snapshot"];
  return new AppError("already_exists", `name: '${name}' is the name of a ${of}; a ${other} needs another`, { reason: "name_taken" });
}

const snapshotGone = () => new AppError("not_found", "The snapshot was deleted meanwhile", { reason: "snapshot_not_found" });
