import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeWorld } from "@boxyard/driver/fake";
import { startPostgres } from "@boxyard/testkit";
import { SQL } from "bun";
import { atMost, type Bench, type BenchResult } from "../lib/bench.ts";
import { createSandbox, giveTemplate, startFakeServer } from "../lib/fake-server.ts";
import { fillStore, type Place } from "../lib/long-lists/fill.ts";
import { type Known, listsOf } from "../lib/long-lists/lists.ts";
import { repeat, type Summary } from "../lib/stats.ts";

const EVENTS = 200_000;
const SANDBOXES = 1000;
const AT_ONCE = 8;
const [SECRETS, KEYS] = [200, 100];
const CALLS = 100;
/** The server's code is warm then, as it is on a server that runs. */
const WARM_UP = 20;
const LIMIT_MS = 50;

/** A server of its own over drivers without machines: what is measured is its store and its answers. */
export const longLists: Bench = {
  name: "long-lists",
  promises: [],
  what: `every list of a server with ${SANDBOXES} sandboxes, a month of metrics of each, and ${EVENTS} events (--count 1000000 for more), on SQLite and PostgreSQL`,
  async run(_platform, count = EVENTS): Promise<BenchResult> {
    const onSqlite = await measuredIn("SQLite", count, (dataDir) => ({ file: join(dataDir, "boxyard.db") }));
    await using postgres = await startPostgres();
    const url = await postgres.database();
    const onPostgres = await measuredIn("PostgreSQL", count, () => ({ url }));
    return {
      series: { ...onSqlite.series, ...onPostgres.series },
      verdicts: [...onSqlite.verdicts, ...onPostgres.verdicts],
      notes: [...onSqlite.notes, ...onPostgres.notes],
    };
  },
};

async function measuredIn(name: string, count: number, placeIn: (dataDir: string) => Place): Promise<BenchResult> {
  const dataDir = mkdtempSync(join(tmpdir(), "boxyard-long-lists-"));
  try {
    return await measured(name, dataDir, placeIn(dataDir), count);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function measured(name: string, dataDir: string, place: Place, count: number): Promise<BenchResult> {
  const world = new FakeWorld();
  // So many sandboxes at once need no room here, and no agent answers.
  const env = { ...("url" in place && { DATABASE_URL: place.url }), BOXYARD_PROBE_SECONDS: "0", BOXYARD_WARM_SANDBOXES: "0" };
  const start = () => startFakeServer(dataDir, world, env);
  giveTemplate(dataDir, world);
  const first = await start();
  const { teamId, key } = first.firstKey;
  const known = { ...(await makeAll(first.url, key)), events: count };
  await first.close(200);
  const began = performance.now();
  await fillStore(place, { teamId, ...known });
  const seconds = Math.round((performance.now() - began) / 1000);
  const bytes = await sizeOf(place);
  const server = await start();
  try {
    const series: Record<string, Summary> = {};
    for (const [route, requests] of Object.entries(listsOf(known))) {
      for (const [what, path] of Object.entries(requests)) {
        series[`${name}: ${route}, ${what}`] = await repeat(CALLS, () => answered(server.url + path, key), WARM_UP);
      }
    }
    const verdicts = Object.entries(series).map(([what, { p99 }]) => atMost(`p99 of ${what}`, p99, LIMIT_MS));
    return {
      series,
      verdicts,
      notes: [`${name}: ${count} events and the metrics were filled in ${seconds} s; the store has ${bytes >> 20} MiB`],
    };
  } finally {
    await server.close(200);
    await world.clear();
  }
}

/** Makes through the API what the fill refers to. */
async function makeAll(url: string, key: string): Promise<Omit<Known, "events">> {
  const sandboxIds: string[] = [];
  await atOnce(SANDBOXES, async () => sandboxIds.push(await createSandbox(url, key)));
  await atOnce(SECRETS, (i) => posted(url, key, "/secrets", { name: `SECRET_${i}`, value: "bench" }));
  await atOnce(KEYS, (i) => posted(url, key, "/api-keys", { name: `key ${i}` }));
  const webhook = await posted(url, key, "/events/webhooks", { name: "bench", url: "https://example.com/", events: ["volume.removed"] });
  const [sandboxId = ""] = sandboxIds;
  const response = await fetch(`${url}/sandboxes/${sandboxId}`, { headers: { "X-API-Key": key } });
  const { templateID } = (await response.json()) as { templateID: string };
  return { sandboxId, sandboxIds, templateId: templateID, webhookId: webhook.id };
}

async function atOnce(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function posted(url: string, key: string, path: string, body: object): Promise<{ readonly id: string }> {
  const headers = { "X-API-Key": key, "Content-Type": "application/json" };
  const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as { id: string };
}

async function answered(url: string, key: string): Promise<void> {
  const response = await fetch(url, { headers: { "X-API-Key": key } });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 300)}`);
}

async function sizeOf(place: Place): Promise<number> {
  if ("file" in place) return statSync(place.file).size;
  await using sql = new SQL(place.url);
  const [row] = (await sql`SELECT pg_database_size(current_database()) AS bytes`) as { bytes: number | string }[];
  return Number(row?.bytes);
}
