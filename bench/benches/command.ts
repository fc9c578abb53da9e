import { Sandbox } from "@boxyard/sdk";
import { atMost, type Bench, type BenchResult, timesFaster, type Verdict } from "../lib/bench.ts";
import { EngineNamespaces } from "../lib/engine-namespaces.ts";
import { baseTree, hasPodman, NO_PODMAN, podmanHold } from "../lib/podman.ts";
import { repeat, type Summary, summarize } from "../lib/stats.ts";
import { traceCommands } from "../lib/trace/command.ts";

export const command: Bench = {
  name: "command",
  promises: [3],
  what: "round trip of a command that does nothing, in a sandbox that runs",
  trace: (platform, count = 60) => traceCommands(platform, count),
  async run(platform): Promise<BenchResult> {
    await using sandbox = await Sandbox.create({ apiUrl: platform.apiUrl, apiKey: platform.apiKey });
    const shell = await repeat(200, () => sandbox.commands.run("true"), 10);
    const start = async () => (await sandbox.commands.spawn(["/bin/true"])).wait();
    const direct = await repeat(200, start, 10);
    const here = () => Bun.spawn(["/bin/true"], { stdio: ["ignore", "ignore", "ignore"] }).exited;
    const series: Record<string, Summary> = {
      "commands.run: bash -l -c true": shell,
      "bash -l -c true by a shell inside": await bashInside(sandbox),
      "commands.spawn: /bin/true": direct,
      "fork and exec of /bin/true here": await repeat(100, here, 10),
      "commands.run, after 100 ms of idling": await repeat(25, () => sandbox.commands.run("true"), 2, 100),
      "commands.spawn, after 100 ms": await repeat(25, start, 2, 100),
      "fork and exec here, after 100 ms": await repeat(25, here, 2, 100),
    };
    const verdicts: Verdict[] = [atMost("commands.run p50", shell.p50, 5), atMost("direct process start p50", direct.p50, 2.5)];
    const notes: string[] = [];
    if (hasPodman()) {
      await using namespaces = await EngineNamespaces.open();
      await using held = await podmanHold(namespaces, await baseTree(platform), `boxyard-bench-${process.pid}`);
      const podman = await repeat(8, () => held.exec(["bash", "-l", "-c", "true"]), 1);
      series["podman exec: bash -l -c true"] = podman;
      verdicts.push(timesFaster("faster than podman exec", shell.p50, podman.p50, 25));
    } else notes.push(NO_PODMAN);
    return { series, verdicts, notes };
  },
};

/** The time of bash and the template's profile alone: a shell inside starts `bash -l` 100 times and prints how long each start took. */
async function bashInside(sandbox: Sandbox): Promise<Summary> {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own
  const script = "for i in $(seq 100); do s=$EPOCHREALTIME; bash -l -c true; e=$EPOCHREALTIME; echo $((${e/./} - ${s/./})); done";
  const { stdout } = await sandbox.commands.run(script);
  return summarize(
    stdout
      .trim()
      .split("\n")
      .map((us) => Number(us) / 1000),
  );
}
