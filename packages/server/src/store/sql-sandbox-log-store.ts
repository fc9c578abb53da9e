import type { SandboxId } from "@boxyard/core";
import { LOG_LEVELS } from "./records.ts";
import { GUEST_PLACE, type SandboxLogLine, type SandboxLogQuery, type SandboxLogStore } from "./sandbox-log-store.ts";
import type { Session } from "./session.ts";
import { num, type Row, text } from "./sql-values.ts";

/** Later than every time of a line. */
const FOREVER = Number.MAX_SAFE_INTEGER;

/** The logs of sandboxes on SQL, for `SqlStore`. */
export class SqlSandboxLogStore implements SandboxLogStore {
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  async add(lines: readonly SandboxLogLine[], keep: number): Promise<void> {
    if (lines.length === 0) return;
    const rows = lines.map(({ sandboxId, at, place, level, message, fields }) => ({
      sandbox_id: sandboxId as string,
      at,
      place,
      level: LOG_LEVELS.indexOf(level),
      message,
      fields: JSON.stringify(fields),
    }));
    await this.session.transaction(async ({ sql }) => {
      await sql`INSERT INTO sandbox_logs ${sql(rows)} ON CONFLICT (sandbox_id, at, place) DO NOTHING`;
      const authors = Map.groupBy(rows, (row) => `${row.sandbox_id} ${row.place >= GUEST_PLACE}`);
      for (const [first] of authors.values()) {
        const id = first?.sandbox_id ?? "";
        const [from, below] = (first?.place ?? 0) >= GUEST_PLACE ? [GUEST_PLACE, Number.MAX_SAFE_INTEGER] : [0, GUEST_PLACE];
        await sql`DELETE FROM sandbox_logs WHERE sandbox_id = ${id} AND place >= ${from} AND place < ${below} AND (at, place) <
          (SELECT at, place FROM sandbox_logs WHERE sandbox_id = ${id} AND place >= ${from} AND place < ${below}
          ORDER BY at DESC, place DESC LIMIT 1 OFFSET ${keep - 1})`;
      }
    });
  }

  async read(id: SandboxId, { cursor, direction, limit, minLevel, search }: SandboxLogQuery): Promise<SandboxLogLine[]> {
    const lowest = LOG_LEVELS.indexOf(minLevel);
    const like = `%${(search ?? "").toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;
    const { sql } = this.session;
    const rows =
      direction === "forward"
        ? await sql`SELECT * FROM sandbox_logs WHERE sandbox_id = ${id} AND level >= ${lowest} AND at >= ${cursor ?? 0}
            AND LOWER(message) LIKE ${like} ESCAPE '\\' ORDER BY at, place LIMIT ${limit}`
        : await sql`SELECT * FROM sandbox_logs WHERE sandbox_id = ${id} AND level >= ${lowest} AND at <= ${cursor ?? FOREVER}
            AND LOWER(message) LIKE ${like} ESCAPE '\\' ORDER BY at DESC, place DESC LIMIT ${limit}`;
    return (rows as Row[]).map((row) => ({
      sandboxId: id,
      at: num(row.at),
      place: num(row.place),
      level: LOG_LEVELS[num(row.level)] ?? "info",
      message: text(row.message),
      fields: JSON.parse(text(row.fields)) as Record<string, string>,
    }));
  }
}
