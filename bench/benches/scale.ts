import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "@boxyard/testkit";
import type { Bench, BenchResult } from "../lib/bench.ts";
import { createSandbox, giveTemplate, startFakeServer } from "../lib/fake-server.ts";
import { manyTimes, writtenBy } from "../lib/scale-measure.ts";
import { ScaleWorld } from "../lib/scale-world.ts";
import { repeat, type Summary, summarize } from "../lib/stats.ts";

const SANDBOXES = 10_000;
/** Creates that clients ask for at once. */
const AT_ONCE = 32;
/** Creates at whose end a level is measured; each is a part of all. */
const LEVELS = [0.01, 0.1, 0.5, 1];
const LISTS = 20;

/** One server over a driver without machines and a real store, with ever more sandboxes: what grows is what the server and its store do. */
export const scale: Bench = {
  name: "scale",
  promises: [],
  what: `creates per second and lists of a server with up to ${SANDBOXES} sandboxes (--count 100000 for more: hours), on SQLite and on PostgreSQL`,
  async run(_platform, count = SANDBOXES): Promise<BenchResult> {
    await using postgres = await startPostgres();
    const results = [await onStore("SQLite", count, undefined), await onStore("PostgreSQL", count, await postgres.database())];
    return {
      series: Object.assign({}, ...results.map(({ series }) => series)) as Record<string, Summary>,
      verdicts: [],
      notes: results.flatMap(({ notes }) => notes),
    };
  },
};

interface Measured {
  readonly series: Record<string, Summary>;
  readonly notes: string[];
}

async function onStore(name: string, count: number, databaseUrl: string | undefined): Promise<Measured> {
  const dataDir = mkdtempSync(join(tmpdir(), "boxyard-scale-"));
  using world = new ScaleWorld();
  giveTemplate(dataDir, world);
  const env = {
    ...{ BOXYARD_MAX_SANDBOXES: String(2 * count), BOXYARD_PROBE_SECONDS: "0", ...(databaseUrl && { DATABASE_URL: databaseUrl }) },
    BOXYARD_TEAM_LIMITS: `sandboxes=${2 * count},cpus=10000000,memoryMB=1000000000000,diskMB=1000000000000,createsPerMinute=10000000`,
  };
  const series: Record<string, Summary> = {};
  const notes: string[] = [];
  try {
    const server = await startFakeServer(dataDir, world, env);
    const { key } = server.firstKey;
    try {
      for (const level of LEVELS) {
        const wanted = Math.ceil(count * level) - world.sandboxes.size;
        const before = await writtenBy(dataDir, databaseUrl);
        const cpu = process.cpuUsage();
        const { each, all } = await manyTimes(wanted, AT_ONCE, () => createSandbox(server.url, key));
        const cpuMs = (process.cpuUsage(cpu).user + process.cpuUsage(cpu).system) / 1000 / wanted;
        const after = await writtenBy(dataDir, databaseUrl);
        const size = world.sandboxes.size;
        series[`${name}: create, up to ${size}`] = summarize(each);
        series[`${name}: list of 100, of ${size}`] = await repeat(LISTS, () => listed(server.url, key, "limit=100"));
        series[`${name}: list by metadata, of ${size}`] = await repeat(LISTS, () => listed(server.url, key, "limit=100&metadata=a%3Db"));
        const transactions =
          after.transactions === undefined ? "" : `, ${perCreate(before.transactions, after.transactions, wanted)} transactions`;
        const bytes = Math.round((after.bytes - before.bytes) / wanted);
        notes.push(
          `${name}, up to ${size}: ${Math.round((wanted / all) * 1000)} creates/s, ${cpuMs.toFixed(2)} ms of CPU (clients and driver too)` +
            `${transactions} and ${bytes} bytes written for each, resident memory ${Math.round(process.memoryUsage.rss() / 2 ** 20)} MiB`,
        );
      }
    } finally {
      await server.close(200);
    }
    const startedAt = performance.now();
    const again = await startFakeServer(dataDir, world, env);
    notes.push(
      `${name}: a start that adopts ${again.adoption.adopted} sandboxes took ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
    );
    await again.close(200);
    return { series, notes };
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

const perCreate = (before = 0, after = 0, count = 1): string => ((after - before) / count).toFixed(1);

async function listed(url: string, key: string, query: string): Promise<void> {
  const response = await fetch(`${url}/v2/sandboxes?${query}`, { headers: { "X-API-Key": key } });
  const bytes = (await response.arrayBuffer()).byteLength;
  if (!response.ok) throw new Error(`a list answered ${response.status} (${bytes} bytes)`);
}
