import type { TemplateId } from "@boxyard/core";
import type { TemplateVersion } from "./records.ts";
import type { Session } from "./session.ts";
import type { Row } from "./sql-values.ts";
import { templateOf, versionOf } from "./template-rows.ts";
import type { FoundTemplate } from "./template-store.ts";
import { UNTAGGED } from "./untagged-builds.ts";

/** What sandboxes can start from, for `SqlTemplateStore`: of all templates, or of one. */
export class SqlTemplateVersions {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  async tagged(): Promise<TemplateVersion[]> {
    const rows = (await this.session.sql`SELECT t.id, t.team_id, s.slug, t.public, t.name, g.tag, g.created_at, b.id AS build_id, b.spec
      FROM templates t JOIN teams s ON s.id = t.team_id JOIN template_tags g ON g.template_id = t.id
      JOIN template_builds b ON b.id = g.build_id WHERE b.spec <> '' ORDER BY t.id, g.tag`) as Row[];
    return rows.map(versionOf);
  }

  async untagged(): Promise<TemplateVersion[]> {
    const rows = (await this.session
      .sql`SELECT t.id, t.team_id, s.slug, t.public, t.name, b.id AS tag, c.used_at AS created_at, b.id AS build_id, b.spec
      FROM templates t JOIN teams s ON s.id = t.team_id JOIN template_builds b ON b.template_id = t.id JOIN build_cache c ON c.key = ${UNTAGGED} || b.id
      WHERE b.spec <> '' AND NOT EXISTS (SELECT 1 FROM template_tags g WHERE g.build_id = b.id) ORDER BY t.id, b.id`) as Row[];
    return rows.map(versionOf);
  }

  async of(id: TemplateId): Promise<FoundTemplate | undefined> {
    const { sql } = this.session;
    const [record] = (await sql`SELECT t.*, s.slug FROM templates t JOIN teams s ON s.id = t.team_id WHERE t.id = ${id}`) as Row[];
    if (!record) return undefined;
    const versions = (await sql`SELECT t.id, t.team_id, s.slug, t.public, t.name, g.tag, g.created_at, b.id AS build_id, b.spec
      FROM templates t JOIN teams s ON s.id = t.team_id JOIN template_tags g ON g.template_id = t.id
      JOIN template_builds b ON b.id = g.build_id WHERE t.id = ${id} AND b.spec <> '' ORDER BY g.tag`) as Row[];
    const untagged =
      (await sql`SELECT t.id, t.team_id, s.slug, t.public, t.name, b.id AS tag, c.used_at AS created_at, b.id AS build_id, b.spec
      FROM templates t JOIN teams s ON s.id = t.team_id JOIN template_builds b ON b.template_id = t.id JOIN build_cache c ON c.key = ${UNTAGGED} || b.id
      WHERE t.id = ${id} AND b.spec <> '' AND NOT EXISTS (SELECT 1 FROM template_tags g WHERE g.build_id = b.id) ORDER BY b.id`) as Row[];
    return { record: templateOf(record), versions: versions.map(versionOf), untagged: untagged.map(versionOf) };
  }
}
