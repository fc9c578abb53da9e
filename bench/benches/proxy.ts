import { join } from "node:path";
import { atMost, type Bench, type BenchResult, type Verdict } from "../lib/bench.ts";
import { load, program } from "../lib/proxy/load.ts";
import { nginx } from "../lib/proxy/nginx.ts";
import type { Summary } from "../lib/stats.ts";

const script = (name: string) => join(import.meta.dir, "../lib/proxy", name);
const REQUESTS = 20_000;

/** The front alone, so that nothing but it is measured: no sandbox, no store. */
export const proxy: Bench = {
  name: "proxy",
  promises: [10],
  what: "what the proxy adds to a small request, and how many it takes, beside nginx",
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
    const many = await load(front.port, 32, REQUESTS);
    series["32 connections, through the proxy"] = many.latency;
    notes.push(`32 connections: ${many.requestsPerSecond} requests/s through the proxy`);
    if (compared) {
      await load(compared.port, 16, REQUESTS / 4);
      const other = await load(compared.port, 32, REQUESTS);
      series["32 connections, through nginx"] = other.latency;
      const share = many.requestsPerSecond / other.requestsPerSecond;
      verdicts.push({ promise: "request rate ≥ 70 % of nginx's", measured: `${Math.round(share * 100)} %`, kept: share >= 0.7 });
    } else notes.push("nginx is not installed: not compared");
    return { series, verdicts, notes };
  },
};
