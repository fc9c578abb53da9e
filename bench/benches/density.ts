import { Sandbox } from "@boxyard/sdk";
import type { Platform } from "@boxyard/testkit";
import type { Bench, BenchResult, Verdict } from "../lib/bench.ts";
import { Active } from "../lib/density/active.ts";
import { type IdleCost, idleCost, type Party } from "../lib/density/idle-cost.ts";
import { type Held, heldBy } from "../lib/density/memory-held.ts";
import { inParallel } from "../lib/many.ts";
import { repeat, type Summary } from "../lib/stats.ts";

const LEVELS = [1, 10, 100, 300];
/** Those that run a command a second. */
const ACTIVE_SHARE = 0.05;
const CREATES = 10;
const COMMANDS = 50;
const CALLS = 100;
/** Agents rest after 5 s, for 20 s at first, then for ever longer; rounds of the server are five seconds apart. */
const SETTLE_MS = 30_000;
/** Six rounds of measurements, and one write of them to the store. */
const IDLE_SECONDS = 31;
const LIMIT_PERCENT = 1;
const LIMIT_MB = 3;

export const density: Bench = {
  name: "density",
  promises: [],
  what: `a machine with ${LEVELS.join(", ")} sandboxes, idle and with 5 % in use: latency, memory, CPU and wake-ups (--count 1000 for that many too)`,
  async run(platform, count = LEVELS.at(-1) ?? 1): Promise<BenchResult> {
    const levels = [...LEVELS.filter((level) => level < count), count];
    const sandboxes: Sandbox[] = [];
    const series: Record<string, Summary> = {};
    const notes: string[] = [];
    let verdicts: Verdict[] = [];
    try {
      const empty = heldBy(platform);
      notes.push(told(0, await costOf(platform), empty, empty));
      for (const level of levels) {
        const refusal = await addUpTo(level, platform, sandboxes);
        if (refusal !== undefined) {
          notes.push(`${sandboxes.length} of ${level}: ${refusal}`);
          break;
        }
        const cost = await costOf(platform);
        const held = heldBy(platform);
        notes.push(told(level, cost, held, empty));
        verdicts = verdictsOf(level, cost, held);
        await latencies(platform, `${level} idle`, series);
        await using _ = new Active(sandboxes.slice(0, Math.ceil(level * ACTIVE_SHARE)));
        await latencies(platform, `${level}, ${Math.ceil(level * ACTIVE_SHARE)} in use`, series);
      }
      return { series, verdicts, notes };
    } finally {
      await inParallel(sandboxes.length, (index) => (sandboxes[index] as Sandbox).kill());
    }
  },
};

/** Returns why the machine takes no more; what was measured before stays of use. Sandboxes that were made before a failure are in the list too. */
async function addUpTo(level: number, platform: Platform, sandboxes: Sandbox[]): Promise<string | undefined> {
  let refusal: string | undefined;
  await inParallel(level - sandboxes.length, async () => {
    if (refusal !== undefined) return;
    try {
      sandboxes.push(await create(platform));
    } catch (error) {
      refusal = error instanceof Error ? error.message : String(error);
    }
  });
  return refusal;
}

const create = ({ apiUrl, apiKey }: Platform) => Sandbox.create({ apiUrl, apiKey, timeoutMs: 3_600_000, requestTimeoutMs: 120_000 });

async function costOf(platform: Platform): Promise<Readonly<Record<Party, IdleCost>>> {
  await Bun.sleep(SETTLE_MS);
  return idleCost(platform, IDLE_SECONDS);
}

async function latencies(platform: Platform, beside: string, series: Record<string, Summary>): Promise<void> {
  const ends: Promise<unknown>[] = [];
  series[`create, beside ${beside}`] = await repeat(CREATES, async () => {
    const sandbox = await create(platform);
    ends.push(sandbox.kill());
  });
  await Promise.all(ends);
  await using sandbox = await create(platform);
  series[`command, beside ${beside}`] = await repeat(COMMANDS, async () => (await sandbox.commands.spawn(["/bin/true"])).wait());
  series[`API, beside ${beside}`] = await repeat(CALLS, () => sandbox.getInfo());
}

function verdictsOf(level: number, cost: Readonly<Record<Party, IdleCost>>, held: Held): Verdict[] {
  const percent = total(cost, "percentOfCore");
  const megabytes = held.private / level / 1e6;
  return [
    {
      promise: `${level} idle sandboxes ≤ ${LIMIT_PERCENT} % of a core`,
      measured: `${percent.toFixed(2)} %`,
      kept: percent <= LIMIT_PERCENT,
    },
    { promise: `private memory of an idle sandbox ≤ ${LIMIT_MB} MB`, measured: `${megabytes.toFixed(2)} MB`, kept: megabytes <= LIMIT_MB },
  ];
}

const total = (cost: Readonly<Record<Party, IdleCost>>, key: keyof IdleCost): number =>
  Object.values(cost).reduce((sum, party) => sum + party[key], 0);

function told(level: number, cost: Readonly<Record<Party, IdleCost>>, held: Held, empty: Held): string {
  const parties = (["server", "helpers", "sandboxes"] as const).map(
    (party) => `${party} ${cost[party].percentOfCore.toFixed(2)} % of a core and ${cost[party].wakeUpsPerSecond.toFixed(1)} wake-ups/s`,
  );
  const each = (what: "private" | "kernel" | "pageCache") => `${((held[what] - empty[what]) / Math.max(1, level) / 1e6).toFixed(2)} MB`;
  const memory =
    level === 0 ? "" : `; each has ${each("private")} private, ${each("kernel")} of the kernel's, ${each("pageCache")} of page cache`;
  return `${level} idle: ${parties.join(", ")}${memory}; the server ${(held.server / 2 ** 20).toFixed(0)} MiB`;
}
