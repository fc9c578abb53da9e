import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { silentLogger } from "@boxyard/core/node";
import type { SandboxDriver } from "@boxyard/driver";
import { openLocalDriver } from "@boxyard/driver-local";
import { makeTestDataDir } from "@boxyard/driver-local/setup";
import type { Bench, BenchResult, Verdict } from "../lib/bench.ts";
import { makeBigImage, mustRun } from "../lib/big-image.ts";
import { type Summary, summarize } from "../lib/stats.ts";

const ROUNDS = 5;
const MOST_TIMES = 1.5;

/** In a storage pool of its own, where nothing else writes; both sides have everything on the disk when their time stops. */
export const templateUnpack: Bench = {
  name: "template-unpack",
  promises: [15],
  what: "a layer of 500 MB unpacked, checked and written down, beside GNU tar on the same disk",
  async run(): Promise<BenchResult> {
    using image = makeBigImage();
    await using directory = await makeTestDataDir();
    const driver = await openLocalDriver({ dataDir: directory.dataDir, logger: silentLogger });
    try {
      const pool = join(directory.dataDir, "pool");
      const series: Record<string, Summary> = {};
      const verdicts: Verdict[] = [];
      for (const [kind, path] of [
        ["plain", image.tar],
        ["gzip", image.gzip],
      ] as const) {
        const [ours, theirs] = await inTurns(
          () => unpack(driver, path),
          () => untar(join(pool, "bench-tar"), path),
        );
        series[`unpack, ${kind}`] = ours;
        series[`tar -x and sync, ${kind}`] = theirs;
        const times = Math.round((ours.p50 / theirs.p50) * 100) / 100;
        verdicts.push({ promise: `${kind}: ≤ ${MOST_TIMES} × tar`, measured: `${times} ×`, kept: times <= MOST_TIMES });
      }
      return { series, verdicts, notes: [] };
    } finally {
      await driver.release();
    }
  },
};

/** Runs both once a round, in alternating order; each returns its milliseconds. The first round is a warm-up and does not count. */
async function inTurns(one: () => Promise<number>, other: () => Promise<number>): Promise<[Summary, Summary]> {
  const samples: [number[], number[]] = [[], []];
  for (let round = 0; round <= ROUNDS; round++) {
    const pair = round % 2 === 0 ? [await one(), await other()] : [await other(), await one()].reverse();
    if (round === 0) continue;
    samples[0].push(pair[0] ?? Number.NaN);
    samples[1].push(pair[1] ?? Number.NaN);
  }
  return [summarize(samples[0]), summarize(samples[1])];
}

async function unpack({ images }: SandboxDriver, path: string): Promise<number> {
  const startedAt = performance.now();
  const { digest } = await images.importLayer({ path }, { signal: new AbortController().signal });
  const ms = performance.now() - startedAt;
  await images.removeLayer(digest);
  return ms;
}

async function untar(target: string, path: string): Promise<number> {
  mkdirSync(target);
  const startedAt = performance.now();
  mustRun(["tar", "-C", target, "-xf", path]);
  mustRun(["sync", "-f", target]);
  const ms = performance.now() - startedAt;
  rmSync(target, { recursive: true });
  return ms;
}
