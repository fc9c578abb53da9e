import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, Volume } from "@boxyard/sdk";
import type { Platform } from "@boxyard/testkit";
import { atMost, type Bench, type BenchResult, type Verdict } from "../lib/bench.ts";
import { type Summary, summarize } from "../lib/stats.ts";

const PAIRS = 40;
const ROUNDS = 7;
const MANY = 100;
const AT_ONCE = 8;

/** Writes, reads and removes small files in the directory that is its argument, and prints the milliseconds. */
const SMALL_FILES = `
import os, sys, time
place, data = os.path.join(sys.argv[1], "small"), b"x" * 4096
os.makedirs(place, exist_ok=True)
started = time.monotonic()
for i in range(3000):
    with open(f"{place}/{i}", "wb") as file: file.write(data)
for i in range(3000):
    with open(f"{place}/{i}", "rb") as file: file.read()
for i in range(3000): os.unlink(f"{place}/{i}")
print((time.monotonic() - started) * 1000)
`;

export const volume: Bench = {
  name: "volume",
  promises: [19],
  what: "what a volume adds to a create, small files on it beside the sandbox's own disk and a bind mount of the pool, and --count sandboxes on one",
  async run(platform, count = MANY): Promise<BenchResult> {
    const options = { apiUrl: platform.apiUrl, apiKey: platform.apiKey };
    const made = await Volume.create(`bench-${crypto.randomUUID()}`, { ...options, sizeMB: 1024 });
    try {
      const creates = await createPairs(options, made);
      const files = await smallFiles(platform, options, made);
      const many = await onOne(options, made, count);
      return {
        series: { ...creates.series, ...files.series },
        verdicts: [creates.verdict, files.verdict, many.verdict],
        notes: many.notes,
      };
    } finally {
      await made.remove();
    }
  },
};

type Options = { readonly apiUrl: string; readonly apiKey: string };
type Measured = { readonly series: Record<string, Summary>; readonly verdict: Verdict };

/** Creates without and with a volume by turns, so that both have the same machine. */
async function createPairs(options: Options, made: Volume): Promise<Measured> {
  const samples: { without: number[]; with: number[] } = { without: [], with: [] };
  const ended: Promise<unknown>[] = [];
  const timed = async (into: number[] | undefined, volumes?: Record<string, Volume>) => {
    const startedAt = performance.now();
    const sandbox = await Sandbox.create({ ...options, volumes });
    into?.push(performance.now() - startedAt);
    ended.push(sandbox.kill());
    await ended.at(-1);
  };
  for (let pair = -2; pair < PAIRS; pair++) {
    const [plain, mounted] = pair < 0 ? [] : [samples.without, samples.with];
    const both = [() => timed(plain), () => timed(mounted, { "/data": made })];
    for (const create of pair % 2 === 0 ? both : both.reverse()) await create();
  }
  const [without, withOne] = [summarize(samples.without), summarize(samples.with)];
  // What else the machine does changes both of a pair.
  const added = summarize(samples.with.map((ms, pair) => ms - (samples.without[pair] ?? Number.NaN)));
  return {
    series: { "create without a volume": without, "create with a volume": withOne, "difference in each pair": added },
    verdict: atMost("a volume adds to a create, p50 of the pairs", added.p50, 2),
  };
}

async function smallFiles(platform: Platform, options: Options, made: Volume): Promise<Measured> {
  const sandbox = await Sandbox.create({ ...options, volumes: { "/data": made }, timeoutMs: 600_000 });
  const bound = join(platform.dataDir, "pool", "bench-bind");
  const samples: Record<"own" | "volume" | "bind", number[]> = { own: [], volume: [], bind: [] };
  try {
    await sandbox.files.write("/tmp/small.py", SMALL_FILES);
    const inside = async (place: string) => Number((await sandbox.commands.run(`python3 /tmp/small.py ${place}`, { timeoutMs: 0 })).stdout);
    mkdirSync(bound);
    for (let round = -1; round < ROUNDS; round++) {
      const found = { own: await inside("/home/user"), volume: await inside("/data"), bind: await onBindMount(bound) };
      if (round >= 0) for (const [name, ms] of Object.entries(found)) samples[name as keyof typeof samples].push(ms);
    }
  } finally {
    rmSync(bound, { recursive: true, force: true });
    await sandbox.kill();
  }
  const [own, onVolume, bind] = [summarize(samples.own), summarize(samples.volume), summarize(samples.bind)];
  const share = Math.round((own.p50 / onVolume.p50) * 100);
  return {
    series: { "3,000 small files, own disk": own, "3,000 small files, volume": onVolume, "3,000 small files, bind mount outside": bind },
    verdict: { promise: "small files on a volume ≥ 90 % of the own disk's rate", measured: `${share} %`, kept: share >= 90 },
  };
}

/** What a container engine's bind mount of a directory of the same file system gives: no overlay, no mapping of ids. */
async function onBindMount(directory: string): Promise<number> {
  const script = 'mount --bind "$0" /mnt && exec python3 -c "$1" /mnt';
  const child = Bun.spawn(["unshare", "--mount", "sh", "-c", script, directory, SMALL_FILES], { stdout: "pipe", stderr: "inherit" });
  const ms = Number(await new Response(child.stdout).text());
  if ((await child.exited) !== 0) throw new Error("the measurement on a bind mount failed");
  return ms;
}

/** Sandboxes that share the volume: each writes a file, and sees those of all others. */
async function onOne(options: Options, made: Volume, count: number): Promise<{ readonly verdict: Verdict; readonly notes: string[] }> {
  const numbers = Array.from({ length: count }, (_, i) => i);
  const sandboxes: Sandbox[] = [];
  const startedAt = performance.now();
  try {
    const queue = [...numbers];
    const work = async () => {
      for (let i = queue.shift(); i !== undefined; i = queue.shift()) {
        const sandbox = await Sandbox.create({ ...options, volumes: { "/data": made }, timeoutMs: 600_000 });
        sandboxes.push(sandbox);
        await sandbox.commands.run(`mkdir -p /data/many && echo ${i} > /data/many/${i}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
    const seen = await Promise.all(sandboxes.map(async (sandbox) => Number((await sandbox.commands.run("ls /data/many | wc -l")).stdout)));
    const whole = seen.filter((files) => files === count).length;
    return {
      verdict: { promise: `${count} sandboxes on one volume see all files`, measured: `${whole} of ${count}`, kept: whole === count },
      notes: [`${count} sandboxes with the volume, each with its first command, in ${seconds} s (${AT_ONCE} at a time)`],
    };
  } finally {
    await Promise.all(sandboxes.map((sandbox) => sandbox.kill()));
  }
}
