import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";

/** What a store has written so far. */
export interface Written {
  readonly transactions: number | undefined;
  readonly bytes: number;
}

/** Counts what the store writes: of PostgreSQL its transactions and the bytes of its log, of SQLite the size of its file. */
export async function writtenBy(dataDir: string, databaseUrl: string | undefined): Promise<Written> {
  if (databaseUrl === undefined) {
    const files = readdirSync(dataDir).filter((name) => name.startsWith("boxyard.db"));
    return { transactions: undefined, bytes: files.reduce((sum, name) => sum + statSync(join(dataDir, name)).size, 0) };
  }
  const sql = new SQL(databaseUrl, { max: 1 });
  try {
    const [row] = await sql`SELECT xact_commit::int AS commits, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS bytes
      FROM pg_stat_database WHERE datname = current_database()`;
    return { transactions: Number(row.commits), bytes: Number(row.bytes) };
  } finally {
    await sql.close();
  }
}

const TICK_MS = 10;

/** How long the event loop did nothing but one thing, at most: what every request waits for then. */
export class Stalls {
  private longest = 0;
  private last = performance.now();
  private readonly timer = setInterval(() => {
    const now = performance.now();
    this.longest = Math.max(this.longest, now - this.last - TICK_MS);
    this.last = now;
  }, TICK_MS);

  /** Milliseconds. */
  end(): number {
    clearInterval(this.timer);
    return Math.round(this.longest);
  }
}
