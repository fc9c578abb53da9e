import { Sandbox } from "@boxyard/sdk";
import { eventually, type Platform } from "@boxyard/testkit";
import { atMost, type Bench, type BenchResult, timesFaster, type Verdict } from "../lib/bench.ts";
import { processCpuUs } from "../lib/cpu.ts";
import { EngineNamespaces } from "../lib/engine-namespaces.ts";
import { baseTree, bwrapRun, hasBwrap, hasPodman, NO_BWRAP, NO_PODMAN, podmanRun } from "../lib/podman.ts";
import { repeat, type Summary, summarize } from "../lib/stats.ts";

const ON = { BOXYARD_WARM_SANDBOXES: "16" };
const OFF = { BOXYARD_WARM_SANDBOXES: "0" };

interface Sample {
  readonly ms: number;
  /** CPU time of the server until the command's result; the removal and what the pool makes then are not in it. */
  readonly serverMs: number;
}

/** Creates a sandbox, waits for its first command's result, and removes it; the removal is not measured. */
async function createOnce({ apiUrl, apiKey, pid }: Platform): Promise<Sample> {
  const [startedAt, cpuBefore] = [performance.now(), processCpuUs(pid)];
  const sandbox = await Sandbox.create({ apiUrl, apiKey });
  await sandbox.commands.run("true");
  const sample = { ms: performance.now() - startedAt, serverMs: (processCpuUs(pid) - cpuBefore) / 1000 };
  await sandbox.kill();
  return sample;
}

/** A figure of the server's metrics. */
async function figure({ apiUrl, apiKey }: Platform, name: string): Promise<number> {
  const text = await (await fetch(`${apiUrl}/metrics`, { headers: { "X-API-Key": apiKey } })).text();
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
}

/** Creates, one after another, each when `ready`. */
async function samplesOf(platform: Platform, count: number, ready: () => Promise<unknown>): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (let run = -3; run < count; run++) {
    const sample = await createOnce(platform);
    if (run >= 0) samples.push(sample);
    await ready();
  }
  return samples;
}

const timesOf = (samples: readonly Sample[]): Summary => summarize(samples.map(({ ms }) => ms));
const serverCpuOf = (samples: readonly Sample[]): number => summarize(samples.map(({ serverMs }) => serverMs)).p50;

export const createWarm: Bench = {
  name: "create-warm",
  promises: [1],
  what: "create a sandbox that waits in the warm pool, then the first command's result, through the SDK",
  async run(platform, count = 40): Promise<BenchResult> {
    const series: Record<string, Summary> = {};
    const notes: string[] = [];
    await platform.restart([], ON);
    const before = await figure(platform, "boxyard_warm_claims_total");
    const waits = () => figure(platform, "boxyard_warm_sandboxes").then((warm) => warm > 0);
    const warm = await samplesOf(platform, count, () => eventually("a sandbox waits", waits, { withinMs: 30_000 }));
    const claims = (await figure(platform, "boxyard_warm_claims_total")) - before;
    await platform.restart([], OFF);
    const cold = await samplesOf(platform, Math.min(count, 20), async () => {});
    const ours = timesOf(warm);
    Object.assign(series, { boxyard: ours, "boxyard, cold": timesOf(cold) });
    notes.push(`CPU of the server until the command's result, p50: ${serverCpuOf(warm)} ms, cold ${serverCpuOf(cold)} ms`);
    const verdicts: Verdict[] = [
      atMost("create from the warm pool and first result, p50", ours.p50, 12),
      { promise: "every measured create gets a sandbox that waited", measured: `${claims} of ${count}`, kept: claims >= count },
    ];
    const tree = await baseTree(platform);
    if (hasPodman()) {
      await using namespaces = await EngineNamespaces.open();
      const podman = await repeat(8, () => podmanRun(namespaces, tree, "none", ["true"]), 1);
      series["podman run --rm"] = podman;
      verdicts.push(timesFaster("faster than podman run", ours.p50, podman.p50, 15));
    } else notes.push(NO_PODMAN);
    if (hasBwrap()) {
      const bwrap = await repeat(20, () => bwrapRun(tree, ["true"]));
      series["bwrap --unshare-all"] = bwrap;
      const ratio = Math.round((ours.p50 / bwrap.p50) * 10) / 10;
      verdicts.push({ promise: "of bwrap's time ≤ 3 ×", measured: `${ratio} ×`, kept: ratio <= 3 });
    } else notes.push(NO_BWRAP);
    return { series, verdicts, notes };
  },
};
