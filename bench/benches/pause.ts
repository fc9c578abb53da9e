import { Sandbox } from "@boxyard/sdk";
import type { Platform } from "@boxyard/testkit";
import { atMost, type Bench, type BenchResult } from "../lib/bench.ts";
import { type Summary, summarize } from "../lib/stats.ts";

const ROUNDS = 10;
const LARGE_ROUNDS = 3;
const TOUCHED_MIB = 512;
/** Fills memory with random pages, no two of them equal, then makes a file as the sign that it is done. */
const TOUCH = `exec python3 -c 'import os, time; m = os.urandom(${TOUCHED_MIB} << 20); open("/tmp/touched", "w"); time.sleep(1e6)'`;

interface Times {
  readonly pause: Summary;
  /** Until the call returns. */
  readonly resume: Summary;
  /** Until the first command's result. */
  readonly first: Summary;
}

/** No processes stay in memory: each resume reads the image. */
const FROM_DISK = { BOXYARD_WAKE_CACHE_SECONDS: "0" };
const FROM_MEMORY = { BOXYARD_WAKE_CACHE_SECONDS: "60", BOXYARD_WAKE_CACHE_MEMORY: "4G" };

export const pause: Bench = {
  name: "pause",
  promises: [9],
  what: `pause and resume, from disk and from memory, of a small sandbox and of one that has touched ${TOUCHED_MIB} MiB (--count)`,
  async run(platform, count = ROUNDS): Promise<BenchResult> {
    await platform.restart([], FROM_DISK);
    const small = await timesOf(platform, count, async () => {});
    const large = await timesOf(platform, Math.min(count, LARGE_ROUNDS), touch);
    await platform.restart([], FROM_MEMORY);
    const woken = await timesOf(platform, count, async () => {});
    const largeWoken = await timesOf(platform, Math.min(count, LARGE_ROUNDS), touch);
    const touched = `${TOUCHED_MIB} MiB touched`;
    return {
      series: {
        ...named("small", small),
        ...named(touched, large),
        ...named("small, from memory", woken),
        ...named(`${touched}, from memory`, largeWoken),
      },
      verdicts: [
        atMost("pause of a small one, p50", small.pause.p50, 200),
        atMost("resume of a small one, p50", small.resume.p50, 250),
        atMost(`pause with ${touched}, p50`, large.pause.p50, 1_000),
        atMost(`resume with ${touched}, p50`, large.resume.p50, 200),
        atMost(`the first command after that, p50`, Math.round((large.first.p50 - large.resume.p50) * 100) / 100, 100),
        atMost("wake from memory of a small one, p50", woken.resume.p50, 15),
      ],
      notes: [],
    };
  },
};

async function touch(sandbox: Sandbox): Promise<void> {
  await sandbox.commands.run(TOUCH, { background: true, timeoutMs: 0 });
  while (!(await sandbox.files.exists("/tmp/touched"))) await Bun.sleep(50);
}

const named = (what: string, { pause: paused, resume, first }: Times): Record<string, Summary> => ({
  [`pause, ${what}`]: paused,
  [`resume, ${what}`]: resume,
  [`resume to the first command's result, ${what}`]: first,
});

async function timesOf(platform: Platform, rounds: number, prepare: (sandbox: Sandbox) => Promise<void>): Promise<Times> {
  const [paused, resumed, first]: [number[], number[], number[]] = [[], [], []];
  const sandbox = await Sandbox.create({ apiUrl: platform.apiUrl, apiKey: platform.apiKey, timeoutMs: 600_000 });
  try {
    await prepare(sandbox);
    for (let round = 0; round < rounds; round++) {
      const [a, b] = [performance.now(), await timed(() => sandbox.pause())];
      paused.push(b - a);
      const [c, d] = [performance.now(), await timed(() => sandbox.resume())];
      resumed.push(d - c);
      first.push((await timed(() => sandbox.commands.run("true"))) - c);
    }
  } finally {
    await sandbox.kill();
  }
  return { pause: summarize(paused), resume: summarize(resumed), first: summarize(first) };
}

/** Does `work` and returns the time at which it was done. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  await work();
  return performance.now();
}
