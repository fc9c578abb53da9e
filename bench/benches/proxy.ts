import { join } from "node:path";
import { atMost, type Bench, type BenchResult, type Verdict } from "../lib/bench.ts";
import { curl, fields } from "../lib/bulk.ts";
import { processCpuUs } from "../lib/cpu.ts";
import { type LoadOptions, load, program, ROUTING } from "../lib/proxy/load.ts";
import { nginx } from "../lib/proxy/nginx.ts";
import { percentile, type Summary, summarize } from "../lib/stats.ts";

const script = (name: string) => join(import.meta.dir, "../lib/proxy", name);
const REQUESTS = 20_000;
const CONNECTIONS = 32;
const ROUNDS = 7;
const GIB_STREAMS = 3;

interface Server {
  readonly port: number;
  readonly pid: number;
}

/** Measures the front by itself: no sandbox, no store. */
export const proxy: Bench = {
  name: "proxy",
  promises: [10],
  what: "what the proxy adds to a small request, its request rate compared with nginx, and the API's latency beside a busy stream",
  async run(): Promise<BenchResult> {
    await using upstream = await program(script("upstream.ts"));
    await using front = await program(script("front.ts"), String(upstream.port));
    await using compared = await nginx(upstream.port);
    const series: Record<string, Summary> = {};
    const verdicts: Verdict[] = [];
    const notes: string[] = [];
    await load(front.port, 16, REQUESTS);
    const direct = await load(upstream.port, 1, REQUESTS / 4);
    const through = await load(front.port, 1, REQUESTS / 4);
    series["one connection, direct"] = direct.latency;
    series["one connection, through the proxy"] = through.latency;
    verdicts.push(atMost("added at p50", Math.round((through.latency.p50 - direct.latency.p50) * 1000) / 1000, 0.15));
    if (compared) {
      const same = await pairs(front, compared, {});
      verdicts.push({ promise: "request rate ≥ 70 % of nginx's", measured: same.text, kept: same.share >= 0.7 });
      let count = 0;
      const distinct = await pairs(front, compared, { path: () => `/item/${count++}` });
      notes.push(`each request with a path of its own: ${distinct.text}`);
    } else notes.push("nginx is not installed: not compared");
    const beside = await besideStream(front);
    series["API, one connection, beside streams of 1 GiB"] = beside;
    verdicts.push(atMost("API p99 beside a busy stream", beside.p99, 20));
    return { series, verdicts, notes };
  },
};

/** Measures both in turns, so that other load of the machine affects both; the result is the median of the pairs' ratios. */
async function pairs(ours: Server, theirs: Server, options: LoadOptions): Promise<{ share: number; text: string }> {
  const shares: number[] = [];
  const cpu: { ours: number[]; theirs: number[] } = { ours: [], theirs: [] };
  let rate = 0;
  for (let round = -1; round < ROUNDS; round++) {
    const [a, b] = [await measured(ours, options), await measured(theirs, options)];
    // The first round is a warm-up.
    if (round < 0) continue;
    shares.push(a.rate / b.rate);
    cpu.ours.push(a.cpuUs);
    cpu.theirs.push(b.cpuUs);
    rate = Math.max(rate, a.rate);
  }
  const share = median(shares);
  const cpuText = `CPU per request ${median(cpu.ours).toFixed(1)} µs, nginx ${median(cpu.theirs).toFixed(1)} µs`;
  return { share, text: `${Math.round(share * 100)} % (at best ${rate} requests/s; ${cpuText})` };
}

async function measured({ port, pid }: Server, options: LoadOptions): Promise<{ rate: number; cpuUs: number }> {
  const before = processCpuUs(pid);
  const { requestsPerSecond } = await load(port, CONNECTIONS, REQUESTS, options);
  return { rate: requestsPerSecond, cpuUs: (processCpuUs(pid) - before) / REQUESTS };
}

const median = (values: readonly number[]) =>
  percentile(
    [...values].sort((a, b) => a - b),
    0.5,
  );

async function besideStream({ port }: Server): Promise<Summary> {
  let isStreaming = true;
  const stream = async () => {
    for (let i = 0; i < GIB_STREAMS; i++) await curl([...fields(ROUTING), `http://127.0.0.1:${port}/gib`]);
    isStreaming = false;
  };
  const streaming = stream();
  const samples: number[] = [];
  while (isStreaming) samples.push(...(await load(port, 1, 200, { path: "/health", headers: {} })).samplesMs);
  await streaming;
  return summarize(samples);
}
