import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeWorld } from "@boxyard/driver/fake";
import { atMost, type Bench, type BenchResult } from "../lib/bench.ts";
import { createSandbox, giveTemplate, startFakeServer } from "../lib/fake-server.ts";
import { fillEvents, fillMetrics, openToFill } from "../lib/long-lists/fill.ts";
import { repeat, type Summary } from "../lib/stats.ts";

const EVENTS = 200_000;
const SERIES = 1000;
/** Values of a point of a sandbox, and of a team. */
const [OF_SANDBOX, OF_TEAM] = [6, 2];
const CALLS = 200;
/** The server's code is warm then, as it is on a server that runs. */
const WARM_UP = 30;
const LIMIT_MS = 50;

/** A server of its own over drivers without machines: what is measured is its store and its answers. */
export const longLists: Bench = {
  name: "long-lists",
  promises: [],
  what: `list calls of a server with ${EVENTS} events (--count 1000000 for more) and a month of metrics of ${SERIES} sandboxes`,
  async run(_platform, count = EVENTS): Promise<BenchResult> {
    const dataDir = mkdtempSync(join(tmpdir(), "boxyard-long-lists-"));
    try {
      return await measured(dataDir, count);
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  },
};

async function measured(dataDir: string, count: number): Promise<BenchResult> {
  const world = new FakeWorld();
  const start = () => startFakeServer(dataDir, world);
  giveTemplate(dataDir, world);
  const first = await start();
  const { teamId, key } = first.firstKey;
  const id = await createSandbox(first.url, key);
  await first.close(200);
  const series = Array.from({ length: SERIES }, (_, i) => (i === SERIES >> 1 ? id : `bench${i}`));
  const file = join(dataDir, "boxyard.db");
  const filledIn = performance.now();
  const db = openToFill(file);
  fillEvents(db, teamId, "bench-other", count);
  fillMetrics(db, series, OF_SANDBOX);
  fillMetrics(db, [`team:${teamId}`], OF_TEAM);
  db.close();
  const seconds = Math.round((performance.now() - filledIn) / 1000);
  const server = await start();
  try {
    const results: Record<string, Summary> = {};
    for (const [name, path] of Object.entries(pathsOf(id, count))) {
      results[name] = await repeat(CALLS, () => answered(server.url + path, key), WARM_UP);
    }
    const verdicts = Object.entries(results).map(([name, { p99 }]) => atMost(`p99 of ${name}`, p99, LIMIT_MS));
    const note = `${count} events and the metrics were filled in ${seconds} s; the store has ${Math.round(statSync(file).size / 2 ** 20)} MiB`;
    return { series: results, verdicts, notes: [note] };
  } finally {
    await server.close(200);
    await world.clear();
  }
}

/** The lists that are measured, by name. */
function pathsOf(id: string, count: number): Record<string, string> {
  return {
    "the first events": "/events?limit=100",
    "events from the middle": `/events?limit=100&cursor=${count >> 1}`,
    "events of an action that the team has often": "/events?limit=100&action=sandbox.running",
    "events of a kind that it has often": `/events?limit=100&action=sandbox&cursor=${count >> 1}`,
    "events of an action that it has rarely": "/events?limit=100&action=template.changed",
    "events of an action that it has not": "/events?limit=100&action=volume.removed",
    "events of a kind that it has not": "/events?limit=100&action=volume",
    "events of one target": "/events?limit=100&targetID=bench77",
    sandboxes: "/v2/sandboxes",
    "30 days of one sandbox": `/sandboxes/${id}/metrics`,
    "an hour of one sandbox": `/sandboxes/${id}/metrics?start=${Math.floor(Date.now() / 1000) - 3600}`,
    "30 days of a team": "/teams/default/metrics",
    "the most of a team in 30 days": "/teams/default/metrics/max?metric=concurrent_sandboxes",
    "usage of a team": "/usage",
  };
}

async function answered(url: string, key: string): Promise<void> {
  const response = await fetch(url, { headers: { "X-API-Key": key } });
  const bytes = (await response.arrayBuffer()).byteLength;
  if (!response.ok) throw new Error(`${url} answered ${response.status} (${bytes} bytes)`);
}
