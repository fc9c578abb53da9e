import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "@boxyard/testkit";
import type { Bench, BenchResult } from "../lib/bench.ts";
import { giveTemplate, startFakeServer } from "../lib/fake-server.ts";
import type { Load } from "../lib/scale-load.ts";
import { Stalls, writtenBy } from "../lib/scale-measure.ts";
import { ScaleWorld } from "../lib/scale-world.ts";
import { repeat, type Summary, summarize } from "../lib/stats.ts";

const SANDBOXES = 10_000;
/** Creates that clients ask for at once. */
const AT_ONCE = 32;
/** Creates at whose end a level is measured; each is a part of all. */
const LEVELS = [0.01, 0.1, 0.5, 1];
const LISTS = 20;
/** Creates that are asked for in each second, whatever the server can do, and for how many seconds. */
const ASKED = { perSecond: 1000, seconds: 5 };

/** One server over a driver without machines and a real store, with ever more sandboxes: what grows is what the server and its store do. */
export const scale: Bench = {
  name: "scale",
  promises: [],
  what: `creates per second, stalls and lists of a server with up to ${SANDBOXES} sandboxes (--count 100000 for more: half an hour), on SQLite and on PostgreSQL`,
  async run(_platform, count = SANDBOXES): Promise<BenchResult> {
    await using postgres = await startPostgres();
    const results = [await measureStore("SQLite", count), await measureStore("PostgreSQL", count, await postgres.database())];
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

async function measureStore(name: string, count: number, databaseUrl?: string): Promise<Measured> {
  const dataDir = mkdtempSync(join(tmpdir(), "boxyard-scale-"));
  await using world = await ScaleWorld.make(2 * count + ASKED.perSecond * ASKED.seconds);
  giveTemplate(dataDir, world);
  const env = {
    ...{
      BOXYARD_MAX_SANDBOXES: String(2 * count + 100_000),
      BOXYARD_PROBE_SECONDS: "0",
      BOXYARD_WARM_SANDBOXES: "0",
      ...(databaseUrl && { DATABASE_URL: databaseUrl }),
    },
    BOXYARD_TEAM_LIMITS: `sandboxes=${2 * count + 100_000},cpus=10000000,memoryMB=1000000000000,diskMB=1000000000000,createsPerMinute=10000000`,
  };
  const series: Record<string, Summary> = {};
  const notes: string[] = [];
  try {
    const server = await startFakeServer(dataDir, world, env);
    const { key } = server.firstKey;
    try {
      for (const level of LEVELS) {
        const wanted = Math.max(0, Math.ceil(count * level) - world.sandboxes.size);
        const client = { url: server.url, key, template: "base" };
        const before = await writtenBy(dataDir, databaseUrl);
        const cpu = process.cpuUsage();
        const stalls = new Stalls();
        const load = await world.ask({ ...client, count: wanted, atOnce: AT_ONCE });
        const longest = stalls.end();
        const cpuMs = cpuSince(cpu) / Math.max(1, wanted);
        const after = await writtenBy(dataDir, databaseUrl);
        const size = world.sandboxes.size;
        if (load.each.length > 0) series[`${name}: create, up to ${size}`] = summarize(load.each);
        series[`${name}: list of 100, of ${size}`] = await repeat(LISTS, () => listed(server.url, key, "limit=100"));
        series[`${name}: list by metadata, of ${size}`] = await repeat(LISTS, () => listed(server.url, key, "limit=100&metadata=a%3Db"));
        const transactions =
          after.transactions === undefined ? "" : `, ${perCreate(before.transactions, after.transactions, wanted)} transactions`;
        const bytes = Math.round((after.bytes - before.bytes) / Math.max(1, wanted));
        const said = [
          `${Math.round((load.each.length / load.all) * 1000)} creates/s with ${AT_ONCE} clients`,
          `${cpuMs.toFixed(2)} ms of CPU (driver too)${transactions} and ${bytes} bytes written for each`,
          `the longest stall ${longest} ms`,
          `resident memory ${Math.round(process.memoryUsage.rss() / 2 ** 20)} MiB`,
          `answers ${JSON.stringify(load.statuses)}`,
        ];
        notes.push(`${name}, up to ${size}: ${said.join("; ")}`);
        if (level === LEVELS.at(-1)) notes.push(`${name}, beside ${size}: ${asked(await world.ask({ ...client, ...ASKED }))}`);
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

const cpuSince = (before: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};

/** What came of the creates that were asked for at a fixed rate. */
function asked({ each, all, statuses }: Load): string {
  const p50 = each.length === 0 ? "none" : `p50 ${Math.round(summarize(each).p50)} ms`;
  return `${ASKED.perSecond} creates/s asked for ${ASKED.seconds} s: ${Math.round((each.length / all) * 1000)} made a second (${p50}), answers ${JSON.stringify(statuses)}`;
}

const perCreate = (before = 0, after = 0, count = 1): string => ((after - before) / count).toFixed(1);

async function listed(url: string, key: string, query: string): Promise<void> {
  const response = await fetch(`${url}/v2/sandboxes?${query}`, { headers: { "X-API-Key": key } });
  const bytes = (await response.arrayBuffer()).byteLength;
  if (!response.ok) throw new Error(`a list answered ${response.status} (${bytes} bytes)`);
}
