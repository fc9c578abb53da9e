import { Sandbox } from "@boxyard/sdk";
import { atMost, type Bench, type BenchResult, timesFaster, type Verdict } from "../lib/bench.ts";
import { baseTree, hasPodman, podmanHold } from "../lib/podman.ts";
import { repeat, type Summary } from "../lib/stats.ts";

export const command: Bench = {
  name: "command",
  promises: [3],
  what: "round trip of a command that does nothing, in a sandbox that runs",
  async run(platform): Promise<BenchResult> {
    await using sandbox = await Sandbox.create({ apiUrl: platform.apiUrl, apiKey: platform.apiKey });
    const shell = await repeat(200, () => sandbox.commands.run("true"), 10);
    const direct = await repeat(200, async () => (await sandbox.commands.spawn(["/bin/true"])).wait(), 10);
    const series: Record<string, Summary> = { "commands.run: bash -l -c true": shell, "commands.spawn: /bin/true": direct };
    const verdicts: Verdict[] = [atMost("commands.run p50", shell.p50, 5), atMost("direct process start p50", direct.p50, 2.5)];
    const notes: string[] = [];
    if (hasPodman()) {
      await using held = await podmanHold(await baseTree(platform), `boxyard-bench-${process.pid}`);
      const podman = await repeat(8, () => held.exec(["bash", "-l", "-c", "true"]), 1);
      series["podman exec: bash -l -c true"] = podman;
      verdicts.push(timesFaster("faster than podman exec", shell.p50, podman.p50, 25));
    } else notes.push("podman is not installed: not compared");
    return { series, verdicts, notes };
  },
};
