import type { SandboxId, TeamId } from "@boxyard/core";
import type { MetricBatch, MetricStore, StoredMeter, UsageDay } from "./metric-store.ts";
import { decodePoints, encodePoints, type Point, type Rule, TIERS, thin } from "./points.ts";
import type { Session, Transaction } from "./session.ts";
import { num, optionalNum, type Row, text } from "./sql-values.ts";

/** Series of one call of `thin`, which holds the store that long: some milliseconds. */
const THINNED_AT_ONCE = 20;
/** Rows of one statement, which takes a limited number of values. */
const INSERTED_AT_ONCE = 500;

/** Measurements on SQL, for `SqlStore`. A row of `metric_chunks` has the points of one series for some time, as `encodePoints` writes them. */
export class SqlMetricStore implements MetricStore {
  private readonly session: Session;
  private readonly node: string;

  constructor(session: Session, node: string) {
    this.session = session;
    this.node = node;
  }

  async writeMeasured({ points, meters, days, roundAt }: MetricBatch): Promise<void> {
    const rows = points.map(({ series, points: some }) => ({ series, tier: 0, start_at: timeOf(some[0]), samples: encodePoints(some) }));
    await this.session.transaction(async ({ sql }) => {
      for (let done = 0; done < rows.length; done += INSERTED_AT_ONCE) {
        await sql`INSERT INTO metric_chunks ${sql(rows.slice(done, done + INSERTED_AT_ONCE))} ON CONFLICT (series, start_at, tier) DO NOTHING`;
      }
      for (const { id, meter } of meters) await sql`UPDATE sandboxes SET meter = ${JSON.stringify(meter)} WHERE id = ${id}`;
      for (const day of days) await addDay(sql, day);
      await sql`INSERT INTO metric_rounds (node, at) VALUES (${this.node}, ${roundAt})
        ON CONFLICT (node) DO UPDATE SET at = excluded.at`;
    });
  }

  async read(series: string, start: number, end: number): Promise<Point[]> {
    // A chunk that begins before `start` may reach into the time.
    const from = start - TIERS[2].chunkMs;
    const rows = (await this.session.sql`SELECT samples FROM metric_chunks WHERE series = ${series} AND start_at >= ${from}
      AND start_at <= ${end} ORDER BY start_at, tier`) as Row[];
    const points = rows.flatMap((row) => decodePoints(text(row.samples))).filter((point) => timeOf(point) <= end);
    return points.sort((a, b) => timeOf(a) - timeOf(b));
  }

  async lastRound(): Promise<number | undefined> {
    const [row] = (await this.session.sql`SELECT at FROM metric_rounds WHERE node = ${this.node}`) as Row[];
    return row && optionalNum(row.at);
  }

  async meterOf(id: SandboxId): Promise<StoredMeter | undefined> {
    const [row] = (await this.session.sql`SELECT meter FROM sandboxes WHERE id = ${id}`) as Row[];
    return row && row.meter !== null ? (JSON.parse(text(row.meter)) as StoredMeter) : undefined;
  }

  async thin(now: number, rulesOf: (series: string) => readonly Rule[]): Promise<boolean> {
    const { sql } = this.session;
    await sql`DELETE FROM metric_chunks WHERE tier = 2 AND start_at < ${now - TIERS[2].keepMs - TIERS[2].chunkMs}`;
    let hasMore = false;
    for (const tier of [0, 1] as const) {
      // Whole chunks of the next tier, so that each is written once in most cases.
      const before = now - TIERS[tier].keepMs - TIERS[tier].chunkMs;
      const rows = (await sql`SELECT DISTINCT series FROM metric_chunks WHERE tier = ${tier} AND start_at < ${before}
        LIMIT ${THINNED_AT_ONCE}`) as Row[];
      hasMore ||= rows.length === THINNED_AT_ONCE;
      if (rows.length === 0) continue;
      await this.session.transaction(async (tx) => {
        for (const row of rows) await thinSeries(tx, text(row.series), tier, before, rulesOf(text(row.series)));
      });
    }
    return hasMore;
  }

  async usageDays(teamId: TeamId, from: number, to: number): Promise<UsageDay[]> {
    const rows = (await this.session.sql`SELECT * FROM usage_days WHERE team_id = ${teamId} AND day >= ${from} AND day <= ${to}
      ORDER BY day`) as Row[];
    return rows.map((row) => ({
      teamId,
      day: num(row.day),
      sandboxes: num(row.sandboxes),
      cpuUsec: num(row.cpu_usec),
      memoryMibMs: num(row.memory_mib_ms),
      runningMs: num(row.running_ms),
      receivedBytes: num(row.received_bytes),
      sentBytes: num(row.sent_bytes),
    }));
  }

  async pruneDays(time: number): Promise<void> {
    await this.session.sql`DELETE FROM usage_days WHERE day < ${time}`;
  }
}

const timeOf = (point: Point | undefined): number => point?.[0] ?? 0;

/** Moves a series' chunks that begin before `before` to the next tier. */
async function thinSeries({ sql }: Transaction, series: string, tier: 0 | 1, before: number, rules: readonly Rule[]): Promise<void> {
  const next = tier + 1;
  const { stepMs, chunkMs } = TIERS[tier === 0 ? 1 : 2];
  const rows = (await sql`SELECT samples FROM metric_chunks WHERE series = ${series} AND tier = ${tier} AND start_at < ${before}
    ORDER BY start_at`) as Row[];
  const byChunk = Map.groupBy(
    rows.flatMap((row) => decodePoints(text(row.samples))),
    (point) => Math.floor(timeOf(point) / chunkMs) * chunkMs,
  );
  for (const [start, points] of byChunk) {
    const [row] =
      (await sql`SELECT samples FROM metric_chunks WHERE series = ${series} AND tier = ${next} AND start_at = ${start}`) as Row[];
    const samples = encodePoints(thin([...(row ? decodePoints(text(row.samples)) : []), ...points], stepMs, rules));
    await sql`INSERT INTO metric_chunks (series, tier, start_at, samples) VALUES (${series}, ${next}, ${start}, ${samples})
      ON CONFLICT (series, start_at, tier) DO UPDATE SET samples = excluded.samples`;
  }
  await sql`DELETE FROM metric_chunks WHERE series = ${series} AND tier = ${tier} AND start_at < ${before}`;
}

async function addDay(sql: Transaction["sql"], day: UsageDay): Promise<void> {
  await sql`INSERT INTO usage_days (team_id, day, sandboxes, cpu_usec, memory_mib_ms, running_ms, received_bytes, sent_bytes)
    VALUES (${day.teamId as string}, ${day.day}, ${day.sandboxes}, ${day.cpuUsec}, ${day.memoryMibMs}, ${day.runningMs},
      ${day.receivedBytes}, ${day.sentBytes})
    ON CONFLICT (team_id, day) DO UPDATE SET sandboxes = usage_days.sandboxes + excluded.sandboxes,
      cpu_usec = usage_days.cpu_usec + excluded.cpu_usec, memory_mib_ms = usage_days.memory_mib_ms + excluded.memory_mib_ms,
      running_ms = usage_days.running_ms + excluded.running_ms, received_bytes = usage_days.received_bytes + excluded.received_bytes,
      sent_bytes = usage_days.sent_bytes + excluded.sent_bytes`;
}
