import { Sandbox } from "@boxyard/sdk";
import { type Platform, settledDifferences, takeSnapshot } from "@boxyard/testkit";
import type { Bench, BenchResult, Verdict } from "../lib/bench.ts";
import { baseTree, bwrapRun, hasBwrap, NO_BWRAP } from "../lib/podman.ts";
import { type Summary, summarize } from "../lib/stats.ts";
import { Usage } from "../lib/trace/usage.ts";

const COMMAND = ["node", "-v"] as const;
const ROUNDS = 3;

/** Measures as public comparisons do: all creates at once, each with a first command that does real work. */
export const create100: Bench = {
  name: "create-100",
  promises: [4],
  what: "100 creates at once, each followed by node -v, beside as many bwrap … node -v (--count)",
  async run(platform, count = 100): Promise<BenchResult> {
    // Warm-up: makes the pools and connections that stay.
    await burst(platform, 4, true);
    const before = takeSnapshot();
    const usage = new Usage(platform);
    const all: number[] = [];
    let done = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const { ms, versions } = await burst(platform, count, true);
      all.push(ms);
      done += versions;
    }
    const cpuBefore = usage.readAll();
    let cpuAfter = Number.NaN;
    await burst(platform, count, false, () => {
      cpuAfter = usage.readAll();
    });
    const cpu = Math.round(((cpuAfter - cpuBefore) / count) * 10) / 10;
    const left = await settledDifferences(platform.dataDir, before);
    const ours = summarize(all);
    const verdicts: Verdict[] = [
      { promise: `${count} of ${count}, ${ROUNDS} times`, measured: `${done} of ${ROUNDS * count}`, kept: done === ROUNDS * count },
      { promise: "CPU for each create (server, runtime, sandbox) ≤ 20 ms", measured: `${cpu} ms`, kept: cpu <= 20 },
      { promise: "nothing leaks", measured: left.length === 0 ? "nothing" : JSON.stringify(left), kept: left.length === 0 },
    ];
    return await besideBwrap(platform, count, ours, verdicts);
  },
};

async function besideBwrap(platform: Platform, count: number, ours: Summary, verdicts: Verdict[]): Promise<BenchResult> {
  const series: Record<string, Summary> = { [`${count} creates, each with ${COMMAND.join(" ")}`]: ours };
  if (!hasBwrap()) return { series, verdicts, notes: [NO_BWRAP] };
  const tree = await baseTree(platform);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: count }, () => bwrapRun(tree, COMMAND)));
    times.push(performance.now() - startedAt);
  }
  const bwrap = summarize(times);
  const ratio = Math.round((ours.p50 / bwrap.p50) * 100) / 100;
  series[`${count} × bwrap ${COMMAND.join(" ")}`] = bwrap;
  return { series, verdicts: [...verdicts, { promise: "total ≤ 1.5 × bwrap's", measured: `${ratio} ×`, kept: ratio <= 1.5 }], notes: [] };
}

/** Creates all at once. The time ends with the last command's result; the removal is not measured. */
async function burst(
  { apiUrl, apiKey }: Platform,
  count: number,
  withCommand: boolean,
  onReady = () => {},
): Promise<{ ms: number; versions: number }> {
  const made: Sandbox[] = [];
  const startedAt = performance.now();
  const one = async () => {
    const sandbox = await Sandbox.create({ apiUrl, apiKey, requestTimeoutMs: 120_000 });
    made.push(sandbox);
    return withCommand ? (await sandbox.commands.run(COMMAND.join(" "))).stdout : "";
  };
  const results = await Promise.allSettled(Array.from({ length: count }, one));
  const ms = performance.now() - startedAt;
  onReady();
  await Promise.all(made.map((sandbox) => sandbox.kill()));
  const failed = results.find((result) => result.status === "rejected");
  if (failed && !withCommand) throw failed.reason;
  return { ms, versions: results.filter((result) => result.status === "fulfilled" && /^v\d+/.test(result.value)).length };
}
