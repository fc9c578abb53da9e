import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Sandbox } from "@boxyard/sdk";
import type { Bench, BenchResult, Verdict } from "../lib/bench.ts";
import { curl, fields, GIB, gibPerSecond, peakMemoryMiB } from "../lib/bulk.ts";
import { program } from "../lib/proxy/load.ts";
import { type Summary, summarize } from "../lib/stats.ts";

const ROUNDS = 5;
const RAW = ["-X", "POST", ...fields({ Expect: "", "Content-Type": "application/octet-stream" })];

/**
 * Promise 7 as a user meets it: a file of a real sandbox, through the server, the network and the agent. The floor is a bare `Bun.serve` with
 * a file of the same kind in the same storage pool. A sandbox's memory holds no 1 GiB of page cache, so neither side finds its file there.
 */
export const files: Bench = {
  name: "files",
  promises: [7],
  what: "1 GiB down from and up to a file of a sandbox, beside a bare Bun.serve with a file of the same pool",
  async run(platform): Promise<BenchResult> {
    const { apiUrl, apiKey } = platform;
    await using sandbox = await Sandbox.create({ apiUrl, apiKey });
    const directory = join(platform.dataDir, "pool", `bench-${process.pid}`);
    mkdirSync(directory);
    try {
      await using bare = await program(join(import.meta.dir, "../lib/bare-files.ts"), directory);
      const bareUrl = `http://127.0.0.1:${bare.port}`;
      await run(["truncate", "-s", String(GIB), join(directory, "source")]);
      await sandbox.commands.run(`truncate -s ${GIB} source`);
      const inside = join(platform.dataDir, "pool/sandboxes", sandbox.sandboxId, "upper/home/user");
      const [down, up] = [await sandbox.downloadUrl("source"), await sandbox.uploadUrl("sent")];
      const before = await peakMemoryMiB(platform.pid);
      const series: Record<string, number[]> = { "bare download": [], download: [], "bare upload": [], upload: [] };
      for (let round = 0; round < ROUNDS; round++) {
        await forget([join(directory, "source"), join(inside, "source")]);
        series["bare download"]?.push(await curl([`${bareUrl}/source`]));
        series.download?.push(await curl([down]));
        series["bare upload"]?.push(await curl([...RAW, "-T", join(directory, "source"), `${bareUrl}/sent`]));
        rmSync(join(directory, "sent"));
        series.upload?.push(await curl([...RAW, "-T", join(directory, "source"), up]));
        await sandbox.files.remove("sent");
      }
      const grown = Math.round((await peakMemoryMiB(platform.pid)) - before);
      const memory = { promise: "memory of the server for it ≤ 64 MiB", measured: `${grown} MiB`, kept: grown <= 64 };
      return { ...judge(series, memory), notes: [] };
    } finally {
      rmSync(directory, { recursive: true });
    }
  },
};

function judge(samples: Readonly<Record<string, readonly number[]>>, memory: Verdict) {
  const series: Record<string, Summary> = {};
  for (const [name, values] of Object.entries(samples)) series[name] = summarize(values);
  const verdicts = ["download", "upload"].map((way): Verdict => {
    const [ours, floor] = [series[way], series[`bare ${way}`]];
    if (!ours || !floor) throw new Error(`no ${way} was measured`);
    const share = Math.round((floor.p50 / ours.p50) * 100);
    const quickest = Math.round((floor.min / ours.min) * 100);
    const measured = `${share} % (${gibPerSecond(ours.p50)} of ${gibPerSecond(floor.p50)}; of the quickest ones ${quickest} %)`;
    return { promise: `${way} of 1 GiB ≥ 60 % of a bare Bun.serve`, measured, kept: share >= 60 };
  });
  return { series, verdicts: [...verdicts, memory] };
}

async function run(argv: readonly string[]): Promise<void> {
  const child = Bun.spawn([...argv], { stdout: "ignore", stderr: "ignore" });
  if ((await child.exited) !== 0) throw new Error(`${argv.join(" ")} failed`);
}

/** Drops the files' content from the page cache. */
async function forget(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    if (!existsSync(path)) throw new Error(`${path} is not there`);
    await run(["dd", `if=${path}`, "iflag=nocache", "count=0"]);
  }
}
