import { newBuildId, newTemplateId, type TeamId, type TemplateId } from "@boxyard/core";
import type { SQL } from "bun";
import {
  type BuildChange,
  type BuildLogLevel,
  type BuildLogLine,
  type BuildRecord,
  type BuildStatus,
  type CachedResult,
  LOG_LEVELS,
  type TagAssignment,
  type TemplateRecord,
  type TemplateSpec,
  type TemplateVersion,
} from "./records.ts";
import { SqlTagHistory } from "./sql-tag-history.ts";
import { num, optionalNum, type Row, text } from "./sql-values.ts";
import type { LogsAt, TemplateStore } from "./template-store.ts";

const rank = (level: BuildLogLevel) => LOG_LEVELS.indexOf(level);

/** Columns of what may change of a build. */
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

/** Templates on SQL, for `SqlStore`. */
export class SqlTemplateStore implements TemplateStore {
  private readonly sql: SQL;
  private readonly history: SqlTagHistory;

  constructor(sql: SQL) {
    this.sql = sql;
    this.history = new SqlTagHistory(sql);
  }

  async put(teamId: TeamId, name: string, tag: string, spec: TemplateSpec, now: number): Promise<void> {
    const { id } = await this.add({ id: newTemplateId(), teamId, name, now });
    const specText = JSON.stringify(spec);
    const builds = (await this.sql`SELECT spec = ${specText} AS same FROM template_builds WHERE template_id = ${id}`) as Row[];
    if (builds.some(({ same }) => num(same) === 1)) return;
    if (builds.length === 0) await this.setPublic(id, true, now);
    const { cpuCount, memoryMB, diskMB } = spec;
    const build = { id: newBuildId(), templateId: id, status: "ready" as const, tags: [tag], resources: { cpuCount, memoryMB, diskMB } };
    // The build comes last: it says that all of this was done.
    await this.assignTags(id, [tag], build.id, now);
    await this.addBuild({ ...build, spec, createdAt: now, updatedAt: now, finishedAt: now });
  }

  async listVersions(): Promise<TemplateVersion[]> {
    const rows = (await this.sql`SELECT t.id, t.team_id, s.slug, t.public, t.name, g.tag, g.created_at, b.id AS build_id, b.spec
      FROM templates t JOIN teams s ON s.id = t.team_id JOIN template_tags g ON g.template_id = t.id
      JOIN template_builds b ON b.id = g.build_id WHERE b.spec <> '' ORDER BY t.id, g.tag`) as Row[];
    return rows.map((row) => ({
      templateId: text(row.id) as TemplateId,
      teamId: text(row.team_id) as TeamId,
      namespace: text(row.slug),
      isPublic: num(row.public) === 1,
      name: text(row.name ?? row.id),
      tag: text(row.tag),
      buildId: text(row.build_id),
      spec: JSON.parse(text(row.spec)) as TemplateSpec,
      assignedAt: num(row.created_at),
    }));
  }

  async add({ id, teamId, name, now }: { id: TemplateId; teamId: TeamId; name?: string; now: number }): Promise<TemplateRecord> {
    const values = { id: id as string, team_id: teamId as string, name: name ?? null, public: 0, created_at: now, updated_at: now };
    await this.sql`INSERT INTO templates ${this.sql(values)} ON CONFLICT (team_id, name) DO NOTHING`;
    const [row] = await this.sql`SELECT t.*, s.slug FROM templates t JOIN teams s ON s.id = t.team_id
      WHERE t.id = ${id} OR (t.team_id = ${teamId} AND t.name = ${name ?? ""})`;
    return templateOf(row);
  }

  async list(): Promise<TemplateRecord[]> {
    const rows = await this.sql`SELECT t.*, s.slug FROM templates t JOIN teams s ON s.id = t.team_id ORDER BY t.id`;
    return (rows as Row[]).map(templateOf);
  }

  async setPublic(id: TemplateId, isPublic: boolean, now: number): Promise<void> {
    await this.sql`UPDATE templates SET public = ${isPublic ? 1 : 0}, updated_at = ${now} WHERE id = ${id}`;
  }

  async countSpawn(id: TemplateId, now: number): Promise<void> {
    await this.sql`UPDATE templates SET spawn_count = spawn_count + 1, last_spawned_at = ${now} WHERE id = ${id}`;
  }

  async remove(id: TemplateId): Promise<void> {
    // The template goes last: while it is there, whatever is left of it can be removed again.
    await this.sql`DELETE FROM template_tags WHERE template_id = ${id}`;
    await this.history.removeAll(id);
    await this.sql`DELETE FROM build_logs WHERE build_id IN (SELECT id FROM template_builds WHERE template_id = ${id})`;
    await this.sql`DELETE FROM template_builds WHERE template_id = ${id}`;
    await this.sql`DELETE FROM templates WHERE id = ${id}`;
  }

  async assignTags(id: TemplateId, tags: readonly string[], buildId: string, now: number): Promise<void> {
    if (tags.length === 0) return;
    const rows = tags.map((tag) => ({ template_id: id as string, tag, build_id: buildId, created_at: now }));
    await this.sql`INSERT INTO template_tags ${this.sql(rows)}
      ON CONFLICT (template_id, tag) DO UPDATE SET build_id = excluded.build_id, created_at = excluded.created_at`;
    await this.history.add(id, tags, buildId, now);
    await this.sql`UPDATE templates SET updated_at = ${now} WHERE id = ${id}`;
  }

  async removeTags(id: TemplateId, tags: readonly string[]): Promise<void> {
    await this.sql`DELETE FROM template_tags WHERE template_id = ${id} AND tag IN ${this.sql([...tags])}`;
    await this.history.remove(id, tags);
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
      created_at: createdAt,
      updated_at: updatedAt,
      finished_at: build.finishedAt ?? null,
    };
    await this.sql`INSERT INTO template_builds ${this.sql(values)}`;
  }

  async getBuild(id: string): Promise<BuildRecord | undefined> {
    const [row] = await this.sql`SELECT * FROM template_builds WHERE id = ${id}`;
    return row ? buildOf(row) : undefined;
  }

  async listBuilds(templateId: TemplateId): Promise<BuildRecord[]> {
    const rows = await this.sql`SELECT * FROM template_builds WHERE template_id = ${templateId} ORDER BY created_at DESC, id`;
    return (rows as Row[]).map(buildOf);
  }

  async listBuildsIn(statuses: readonly BuildStatus[]): Promise<BuildRecord[]> {
    const rows = await this.sql`SELECT * FROM template_builds WHERE status IN ${this.sql([...statuses])} ORDER BY created_at`;
    return (rows as Row[]).map(buildOf);
  }

  async listSpecs(): Promise<TemplateSpec[]> {
    const rows = (await this.sql`SELECT spec FROM template_builds b WHERE spec <> ''
      AND EXISTS (SELECT 1 FROM template_tags t WHERE t.build_id = b.id)`) as Row[];
    return rows.map((row) => JSON.parse(text(row.spec)) as TemplateSpec);
  }

  async updateBuild(id: string, from: readonly BuildStatus[], change: BuildChange): Promise<boolean> {
    const values: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(change)) {
      const column = COLUMNS[key as keyof BuildChange];
      values[column.name] = column.isJson ? JSON.stringify(value) : value;
    }
    const rows = await this.sql`UPDATE template_builds SET ${this.sql(values)} WHERE id = ${id} AND status IN ${this.sql([...from])}
      RETURNING id`;
    return rows.length === 1;
  }

  async addLogs(buildId: string, place: number, lines: readonly BuildLogLine[]): Promise<void> {
    if (lines.length === 0) return;
    const rows = lines.map(({ at, level, step, message }, i) => {
      // PostgreSQL's text holds no NUL.
      return { build_id: buildId, place: place + i, at, level: rank(level), step: step ?? null, message: message.replaceAll("\0", "") };
    });
    await this.sql`INSERT INTO build_logs ${this.sql(rows)}`;
  }

  async readLogs(buildId: string, options: { offset: number; limit: number; minLevel: BuildLogLevel }): Promise<BuildLogLine[]> {
    const rows = await this.sql`SELECT * FROM build_logs WHERE build_id = ${buildId} AND level >= ${rank(options.minLevel)}
      ORDER BY place LIMIT ${options.limit} OFFSET ${options.offset}`;
    return (rows as Row[]).map(lineOf);
  }

  async readLogsAt(buildId: string, { cursor, direction, limit, minLevel }: LogsAt): Promise<BuildLogLine[]> {
    const lowest = rank(minLevel);
    const rows =
      direction === "forward"
        ? await this.sql`SELECT * FROM build_logs WHERE build_id = ${buildId} AND level >= ${lowest} AND at >= ${cursor ?? 0}
            ORDER BY place LIMIT ${limit}`
        : await this.sql`SELECT * FROM build_logs WHERE build_id = ${buildId} AND level >= ${lowest}
            AND at <= ${cursor ?? Number.MAX_SAFE_INTEGER} ORDER BY place DESC LIMIT ${limit}`;
    return (rows as Row[]).map(lineOf);
  }

  async pruneLogs(time: number): Promise<void> {
    await this.sql`DELETE FROM build_logs WHERE build_id IN (SELECT id FROM template_builds
      WHERE finished_at < ${time} AND id NOT IN (SELECT build_id FROM template_tags))`;
  }

  async getCached(key: string, now: number): Promise<string | undefined> {
    const [row] = await this.sql`UPDATE build_cache SET used_at = ${now} WHERE key = ${key} RETURNING result`;
    return row ? text(row.result) : undefined;
  }

  async putCached(key: string, result: string, now: number): Promise<void> {
    await this.sql`INSERT INTO build_cache ${this.sql({ key, result, used_at: now })}
      ON CONFLICT (key) DO UPDATE SET result = excluded.result, used_at = excluded.used_at`;
  }

  async listCached(): Promise<CachedResult[]> {
    const rows = (await this.sql`SELECT key, result FROM build_cache ORDER BY used_at DESC, key`) as Row[];
    return rows.map((row) => ({ key: text(row.key), result: text(row.result) }));
  }

  async removeCached(keys: readonly string[]): Promise<void> {
    // A statement takes only so many values.
    for (let at = 0; at < keys.length; at += 500) {
      await this.sql`DELETE FROM build_cache WHERE key IN ${this.sql(keys.slice(at, at + 500))}`;
    }
  }

  async pruneCached(time: number): Promise<void> {
    await this.sql`DELETE FROM build_cache WHERE used_at < ${time}`;
  }
}

function templateOf(row: Row): TemplateRecord {
  const lastSpawnedAt = optionalNum(row.last_spawned_at);
  return {
    id: text(row.id) as TemplateId,
    teamId: text(row.team_id) as TeamId,
    namespace: text(row.slug),
    ...(row.name === null ? {} : { name: text(row.name) }),
    isPublic: num(row.public) === 1,
    createdAt: num(row.created_at),
    updatedAt: num(row.updated_at),
    spawnCount: num(row.spawn_count),
    ...(lastSpawnedAt === undefined ? {} : { lastSpawnedAt }),
  };
}

/** Builds of the first schema have no resources of their own; their spec says them. */
function resourcesOf(row: Row, spec: TemplateSpec | undefined): BuildRecord["resources"] {
  const { cpuCount, memoryMB, diskMB } = { ...spec, ...JSON.parse(text(row.resources)) };
  return { cpuCount, memoryMB, diskMB };
}

function buildOf(row: Row): BuildRecord {
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

function lineOf(row: Row): BuildLogLine {
  return {
    at: num(row.at),
    level: LOG_LEVELS[num(row.level)] ?? "info",
    ...(row.step === null ? {} : { step: text(row.step) }),
    message: text(row.message),
  };
}
