import { Sandbox } from "@boxyard/sdk";
import { eventually, type Platform } from "@boxyard/testkit";
import type { Bench, BenchResult, Verdict } from "../lib/bench.ts";
import { type Summary, summarize } from "../lib/stats.ts";

const COMMAND = "node -v";
/** Between two creates of a staggered run, as public comparisons have it. */
const STAGGER_MS = 200;

interface Run {
  readonly times: readonly number[];
  readonly failed: number;
}

/** One create until the first command's result, after a delay that is not measured. Removed at the end; the removal is not measured. */
async function interactive({ apiUrl, apiKey }: Platform, delayMs = 0): Promise<number> {
  await Bun.sleep(delayMs);
  const startedAt = performance.now();
  await using held = await hold(await Sandbox.create({ apiUrl, apiKey, requestTimeoutMs: 120_000 }));
  const { stdout } = await held.sandbox.commands.run(COMMAND);
  const ms = performance.now() - startedAt;
  if (!/^v\d+/.test(stdout)) throw new Error(`${COMMAND} printed ${stdout}`);
  return ms;
}

const hold = (sandbox: Sandbox) => ({ sandbox, [Symbol.asyncDispose]: () => sandbox.kill().then(() => {}) });

function runOf(results: readonly PromiseSettledResult<number>[]): Run {
  const times = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  return { times, failed: results.length - times.length };
}

/** The three ways in which creates come. */
const WAYS = {
  sequential: async (platform: Platform, count: number): Promise<Run> => {
    const results: PromiseSettledResult<number>[] = [];
    for (let i = 0; i < count; i++) results.push(...(await Promise.allSettled([interactive(platform)])));
    return runOf(results);
  },
  staggered: async (platform: Platform, count: number): Promise<Run> =>
    runOf(await Promise.allSettled(Array.from({ length: count }, (_, i) => interactive(platform, i * STAGGER_MS)))),
  burst: async (platform: Platform, count: number): Promise<Run> =>
    runOf(await Promise.allSettled(Array.from({ length: count }, () => interactive(platform)))),
} as const;

/** Nothing is made in the background any more: the pool has what the run before has made it want. */
async function settled(platform: Platform): Promise<void> {
  let before = -1;
  await eventually(
    "the pool has settled",
    async () => {
      const text = await (await fetch(`${platform.apiUrl}/metrics`, { headers: { "X-API-Key": platform.apiKey } })).text();
      const now = Number(/^boxyard_warm_sandboxes (\d+)$/m.exec(text)?.[1] ?? 0);
      const isSame = now === before;
      before = now;
      return isSame;
    },
    { withinMs: 30_000, everyMs: 1500 },
  );
}

export const tti: Bench = {
  name: "tti",
  promises: [],
  what: `time to interactive, from the create to the result of ${COMMAND}: one after another, one each ${STAGGER_MS} ms, all at once, with the settings that users have (--count)`,
  async run(platform, count = 100): Promise<BenchResult> {
    await platform.restart([], { BOXYARD_WARM_SANDBOXES: "" });
    const series: Record<string, Summary> = {};
    const verdicts: Verdict[] = [];
    const notes: string[] = [];
    await interactive(platform);
    for (const [way, run] of Object.entries(WAYS)) {
      await settled(platform);
      const { times, failed } = await run(platform, count);
      const summary = summarize(times);
      series[way] = summary;
      notes.push(`${way}: median ${summary.p50} ms, p95 ${summary.p95} ms, p99 ${summary.p99} ms`);
      verdicts.push({ promise: `${way}: ${count} of ${count} succeed`, measured: `${count - failed} of ${count}`, kept: failed === 0 });
    }
    await platform.restart([], { BOXYARD_WARM_SANDBOXES: "0" });
    return { series, verdicts, notes };
  },
};
