import { join } from "node:path";
import type { Bench, BenchResult, Verdict } from "../lib/bench.ts";
import { curl, fields, GIB, gibPerSecond, peakMemoryMiB } from "../lib/bulk.ts";
import { medianRatio } from "../lib/pairs.ts";
import { program, ROUTING } from "../lib/proxy/load.ts";
import { type Summary, summarize } from "../lib/stats.ts";

const ROUNDS = 7;
const script = (name: string) => join(import.meta.dir, "../lib/proxy", name);

/** Promise 7 for the proxy alone; `files` measures it through a sandbox. */
export const transfer: Bench = {
  name: "transfer",
  promises: [7],
  what: "1 GiB down and up through the proxy, beside the same server reached directly",
  async run(): Promise<BenchResult> {
    await using upstream = await program(script("upstream.ts"));
    await using front = await program(script("front.ts"), String(upstream.port));
    const before = await peakMemoryMiB(front.pid);
    const verdicts: Verdict[] = [];
    const series: Record<string, Summary> = {};
    for (const [name, way] of [
      ["download", download],
      ["upload", upload],
    ] as const) {
      const direct: number[] = [];
      const through: number[] = [];
      for (let round = 0; round <= ROUNDS; round++) {
        const pair = [await way(upstream.port, {}), await way(front.port, ROUTING)] as const;
        if (round === 0) continue;
        direct.push(pair[0]);
        through.push(pair[1]);
      }
      series[`${name}, direct`] = summarize(direct);
      series[`${name}, through the proxy`] = summarize(through);
      const [theirs, ours] = [summarize(direct).p50, summarize(through).p50];
      const share = Math.round(medianRatio(direct, through) * 100);
      const measured = `${share} %, median of pairs (${gibPerSecond(ours)} of ${gibPerSecond(theirs)}; of the quickest ones ${Math.round((Math.min(...direct) / Math.min(...through)) * 100)} %)`;
      verdicts.push({ promise: `${name} ≥ 60 % of a direct one`, measured, kept: share >= 60 });
    }
    const grown = Math.round((await peakMemoryMiB(front.pid)) - before);
    verdicts.push({ promise: "memory that the traffic needed ≤ 64 MiB", measured: `${grown} MiB`, kept: grown <= 64 });
    return { series, verdicts, notes: [] };
  },
};

const download = (port: number, headers: Record<string, string>) => curl([...fields(headers), `http://127.0.0.1:${port}/gib`]);

async function upload(port: number, headers: Record<string, string>): Promise<number> {
  const file = `/tmp/boxyard-bench-${process.pid}.zero`;
  await Bun.spawn(["truncate", "-s", String(GIB), file]).exited;
  try {
    return await curl([...fields(headers), "-H", "Expect:", "-T", file, `http://127.0.0.1:${port}/sink`]);
  } finally {
    await Bun.file(file).delete();
  }
}
