import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { FakeWorld } from "@boxyard/driver/fake";
import type { Bench, BenchResult } from "../lib/bench.ts";
import { createSandbox, giveTemplate, startFakeServer } from "../lib/fake-server.ts";

const SANDBOXES = 1000;
const AT_ONCE = 8;
/** Twelve rounds of measurements and two writes to the store. */
const SECONDS = 60;
/** What a start and creates leave to be done: collections, code that becomes warm, and rounds in which each sandbox is measured for the first time. */
const SETTLE_MS = 30_000;
const LIMIT_PERCENT = 0.5;

/**
 * A server over drivers without machines, in this process, which asks no agent whether it is well: what 1,000 idle sandboxes cost then is that they are
 * looked at every five seconds. The read of the kernel's counters is not in it.
 */
export const idleMetrics: Bench = {
  name: "idle-metrics",
  promises: [],
  what: `CPU time that the metrics of ${SANDBOXES} idle sandboxes take, without the kernel's part (--count: seconds for each of two measurements)`,
  async run(_platform, seconds = SECONDS): Promise<BenchResult> {
    const dataDir = mkdtempSync(join(tmpdir(), "boxyard-idle-metrics-"));
    try {
      return await measured(dataDir, seconds);
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  },
};

async function measured(dataDir: string, seconds: number): Promise<BenchResult> {
  const world = new FakeWorld();
  giveTemplate(dataDir, world);
  const server = await startFakeServer(dataDir, world, { BOXYARD_PROBE_SECONDS: "0" });
  try {
    await Bun.sleep(SETTLE_MS);
    const alone = await percentOfCore(seconds);
    const { key } = server.firstKey;
    for (let made = 0; made < SANDBOXES; made += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, () => createSandbox(server.url, key)));
    }
    await Bun.sleep(SETTLE_MS);
    const before = world.faults.calls.length;
    const beside = await percentOfCore(seconds);
    const calls = world.faults.calls.length - before;
    const more = round(beside - alone);
    const measurement = {
      promise: `${SANDBOXES} idle sandboxes ≤ ${LIMIT_PERCENT} % of a core`,
      measured: `${more} %`,
      kept: more <= LIMIT_PERCENT,
    };
    return {
      series: {},
      verdicts: [measurement],
      notes: [
        `the server takes ${round(alone)} % of a core without sandboxes, and ${round(beside)} % with them, over ${seconds} s each`,
        `${calls} sandboxes were measured beyond a look at their CPU time; load of the machine ${loadavg()[0]?.toFixed(1)}`,
      ],
    };
  } finally {
    await server.close(200);
    await world.clear();
  }
}

/** CPU time of this process over so many seconds, as a share of one core. */
async function percentOfCore(seconds: number): Promise<number> {
  const [cpu, time] = [process.cpuUsage(), performance.now()];
  await Bun.sleep(seconds * 1000);
  const { user, system } = process.cpuUsage(cpu);
  return (user + system) / 10 / (performance.now() - time);
}

const round = (percent: number) => Math.round(percent * 100) / 100;
