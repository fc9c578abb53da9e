import { join } from "node:path";
import type { Bench, BenchResult, Verdict } from "../lib/bench.ts";
import { program, ROUTING } from "../lib/proxy/load.ts";

const GIB = 2 ** 30;
const script = (name: string) => join(import.meta.dir, "../lib/proxy", name);

/** Promise 7 for the proxy alone; what the agent's file interface adds is measured with the agent. */
export const transfer: Bench = {
  name: "transfer",
  promises: [7],
  what: "1 GiB down and up through the proxy, beside the same server reached directly",
  async run(): Promise<BenchResult> {
    await using upstream = await program(script("upstream.ts"));
    await using front = await program(script("front.ts"), String(upstream.port));
    const before = peakMemoryMiB(front.pid);
    const verdicts: Verdict[] = [];
    for (const [name, way] of [
      ["download", download],
      ["upload", upload],
    ] as const) {
      await way(upstream.port, {});
      const direct = await way(upstream.port, {});
      await way(front.port, ROUTING);
      const through = await way(front.port, ROUTING);
      const share = Math.round((direct / through) * 100);
      const measured = `${share} % (${rate(through)} of ${rate(direct)})`;
      verdicts.push({ promise: `${name} ≥ 60 % of a direct one`, measured, kept: share >= 60 });
    }
    const grown = Math.round(peakMemoryMiB(front.pid) - before);
    verdicts.push({ promise: "memory that 4 GiB of traffic needed ≤ 64 MiB", measured: `${grown} MiB`, kept: grown <= 64 });
    return { series: {}, verdicts, notes: [] };
  },
};

const rate = (ms: number) => `${(1024 / ms).toFixed(2)} GiB/s`;

function peakMemoryMiB(pid: number): number {
  const status = new TextDecoder().decode(Bun.spawnSync(["cat", `/proc/${pid}/status`]).stdout);
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

/** curl reads and writes; it is the quickest client at hand. Milliseconds. */
async function curl(args: string[], stdin?: ReadableStream): Promise<number> {
  const startedAt = performance.now();
  const child = Bun.spawn(["curl", "-sf", "-o", "/dev/null", ...args], { stdin: stdin ?? "ignore", stdout: "ignore", stderr: "inherit" });
  if ((await child.exited) !== 0) throw new Error("curl failed");
  return performance.now() - startedAt;
}

const fields = (headers: Record<string, string>) => Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);

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
