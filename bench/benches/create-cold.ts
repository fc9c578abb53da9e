import { Sandbox } from "@boxyard/sdk";
import type { Platform } from "@boxyard/testkit";
import { atMost, type Bench, type BenchResult, timesFaster, type Verdict } from "../lib/bench.ts";
import { machineCpuMs } from "../lib/cpu.ts";
import { EngineNamespaces } from "../lib/engine-namespaces.ts";
import { baseTree, bwrapRun, hasBwrap, hasPodman, NO_BWRAP, NO_PODMAN, podmanRun } from "../lib/podman.ts";
import { repeat, type Summary } from "../lib/stats.ts";
import { traceCreate } from "../lib/trace/create.ts";

/** Creates a sandbox, waits for the first command's result, and removes it; the removal is not measured. */
async function createSamples(platform: Platform, count: number): Promise<Summary> {
  const ended: Promise<unknown>[] = [];
  const summary = await repeat(count, async () => {
    const sandbox = await Sandbox.create({ apiUrl: platform.apiUrl, apiKey: platform.apiKey });
    await sandbox.commands.run("true");
    ended.push(sandbox.kill());
  });
  await Promise.all(ended);
  return summary;
}

export const createCold: Bench = {
  name: "create-cold",
  promises: [2],
  what: "create a sandbox without a warm pool, then the first command's result, through the SDK",
  trace: async (platform, count = 30) => [await traceCreate(platform, count)],
  async run(platform): Promise<BenchResult> {
    const count = 40;
    const cpuBefore = machineCpuMs();
    const ours = await createSamples(platform, count);
    const cpuMs = Math.round((machineCpuMs() - cpuBefore) / count);
    const series: Record<string, Summary> = { boxyard: ours };
    const verdicts: Verdict[] = [atMost("cold create and first result, p50", ours.p50, 40)];
    const notes: string[] = [
      `${cpuMs} ms of CPU for each create with its command and removal, client and everything else on the machine included`,
    ];
    const tree = await baseTree(platform);
    if (hasPodman()) {
      await using namespaces = await EngineNamespaces.open();
      const podman = await repeat(8, () => podmanRun(namespaces, tree, "bridge", ["true"]), 1);
      series["podman run --rm, with network"] = podman;
      verdicts.push(timesFaster("faster than podman run with network", ours.p50, podman.p50, 8));
    } else notes.push(NO_PODMAN);
    if (hasBwrap()) series["bwrap --unshare-all"] = await repeat(20, () => bwrapRun(tree, ["true"]));
    else notes.push(NO_BWRAP);
    return { series, verdicts, notes };
  },
};
