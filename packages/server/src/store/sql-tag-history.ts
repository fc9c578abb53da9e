import type { TemplateId } from "@boxyard/core";
import type { TagAssignment } from "./records.ts";
import type { Session } from "./session.ts";
import { num, optionalNum, type Row, text } from "./sql-values.ts";

/** How many assignments of a tag are kept. */
const KEEP = 200;

/** The assignments of tags, for `SqlTemplateStore`. The present ones are in `template_tags`; those of earlier versions are only there. */
export class SqlTagHistory {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  async add(id: TemplateId, tags: readonly string[], buildId: string, now: number): Promise<void> {
    const rows = tags.map((tag) => ({ template_id: id as string, tag, build_id: buildId, assigned_at: now }));
    await this.session.sql`INSERT INTO tag_assignments ${this.session.sql(rows)} ON CONFLICT DO NOTHING`;
    for (const tag of tags) {
      await this.session
        .sql`DELETE FROM tag_assignments WHERE template_id = ${id} AND tag = ${tag} AND assigned_at < (SELECT MIN(assigned_at) FROM
        (SELECT assigned_at FROM tag_assignments WHERE template_id = ${id} AND tag = ${tag} ORDER BY assigned_at DESC LIMIT ${KEEP}) newest)`;
    }
  }

  async remove(id: TemplateId, tags: readonly string[]): Promise<void> {
    await this.session.sql`DELETE FROM tag_assignments WHERE template_id = ${id} AND tag IN ${this.session.sql([...tags])}`;
  }

  async removeAll(id: TemplateId): Promise<void> {
    await this.session.sql`DELETE FROM tag_assignments WHERE template_id = ${id}`;
  }

  async list(id: TemplateId): Promise<TagAssignment[]> {
    const rows = (await this.session.sql`SELECT a.tag, a.build_id, a.assigned_at, b.created_at, b.finished_at FROM
      (SELECT tag, build_id, assigned_at FROM tag_assignments WHERE template_id = ${id}
        UNION SELECT tag, build_id, created_at AS assigned_at FROM template_tags WHERE template_id = ${id}) a
      JOIN template_builds b ON b.id = a.build_id WHERE b.status = 'ready'
      AND a.tag IN (SELECT tag FROM template_tags WHERE template_id = ${id}) ORDER BY a.assigned_at DESC, a.tag, a.build_id`) as Row[];
    return rows.map((row) => {
      const finishedAt = optionalNum(row.finished_at);
      return {
        tag: text(row.tag),
        buildId: text(row.build_id),
        assignedAt: num(row.assigned_at),
        buildCreatedAt: num(row.created_at),
        ...(finishedAt === undefined ? {} : { buildFinishedAt: finishedAt }),
      };
    });
  }
}
