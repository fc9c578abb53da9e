import { join } from "node:path";
import type { Bench, BenchResult, Verdict } from "../lib/bench.ts";
import { type Figures, WAYS, type Way } from "../lib/egress/world.ts";
import { medianRatio } from "../lib/pairs.ts";
import { type Summary, summarize } from "../lib/stats.ts";

const ROUNDS = 8;
/** Least share of a direct transfer's speed, and most milliseconds that a connection may take longer than a direct one. */
const SHARE = 0.8;
const ADDED_MS = { named: 1, ruled: 5 } as const;
const TEXT: Record<Way, string> = { direct: "direct", named: "by name", ruled: "with rules" };

/** Promise 20: HTTPS of a sandbox through the egress proxy beside HTTPS that the kernel passes on alone, to the same server. */
export const egress: Bench = {
  name: "egress",
  promises: [20],
  what: "HTTPS to a host that is allowed by name, and to one with rules, beside a direct connection: what it adds, and its throughput (--count: rounds)",
  async run(_platform, count = ROUNDS): Promise<BenchResult> {
    const figures = await measured(count);
    const series: Record<string, Summary> = {};
    for (const way of WAYS) {
      series[`small request, ${TEXT[way]}`] = summarize(figures.small[way]);
      series[`download of 256 MiB, ${TEXT[way]}`] = summarize(figures.down[way]);
      series[`upload of 256 MiB, ${TEXT[way]}`] = summarize(figures.up[way]);
    }
    const cpu = WAYS.map((way) => `${TEXT[way]} ${Math.round(summarize(figures.proxyCpu[way]).p50)} ms`).join(", ");
    return {
      series,
      verdicts: [...added(figures), ...(["down", "up"] as const).map((direction) => shared(figures, direction))],
      notes: [
        `with rules: download ${percent(medianRatio(figures.down.direct, figures.down.ruled))}, upload ${percent(medianRatio(figures.up.direct, figures.up.ruled))} of a direct one`,
        `CPU of the proxy for a download, p50: ${cpu}`,
      ],
    };
  },
};

const percent = (ratio: number) => `${Math.round(ratio * 100)} %`;

function added({ small }: Figures): Verdict[] {
  const direct = summarize(small.direct).p50;
  return (["named", "ruled"] as const).map((way) => {
    const ms = Math.round((summarize(small[way]).p50 - direct) * 100) / 100;
    return {
      promise: `added ${TEXT[way]}, p50 ≤ ${ADDED_MS[way]} ms`,
      measured: `${ms} ms (direct ${direct} ms)`,
      kept: ms <= ADDED_MS[way],
    };
  });
}

function shared(figures: Figures, direction: "down" | "up"): Verdict {
  const share = medianRatio(figures[direction].direct, figures[direction].named);
  const rate = (ms: number) => Math.round(256_000 / ms);
  const [direct, named] = [summarize(figures[direction].direct).p50, summarize(figures[direction].named).p50];
  return {
    promise: `${direction}load by name ≥ ${SHARE * 100} % of a direct one`,
    measured: `${percent(share)} (median of pairs; p50 ${rate(named)} of ${rate(direct)} MiB/s)`,
    kept: share >= SHARE,
  };
}

/** The child moves its thread into namespaces, and ends with its standard input. */
async function measured(rounds: number): Promise<Figures> {
  const script = join(import.meta.dir, "../lib/egress/world.ts");
  const child = Bun.spawn([process.execPath, script, String(rounds)], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0 || text === "") throw new Error("the measurement ended early");
  return JSON.parse(text) as Figures;
}
