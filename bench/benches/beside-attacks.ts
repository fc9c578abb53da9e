import { Sandbox } from "@boxyard/sdk";
import type { Platform } from "@boxyard/testkit";
import { ATTACKS, PLAIN } from "../lib/attacks.ts";
import type { Bench, BenchResult, Verdict } from "../lib/bench.ts";
import { beside } from "../lib/beside.ts";
import { repeat, type Summary, summarize } from "../lib/stats.ts";

/** Creates beside each attack, and as many beside plain load. */
const CREATES = 12;
const COMMANDS_PER_CREATE = 3;
/** An attack alternates with plain load in so many pairs, so that both meet the same machine. */
const PAIRS = 2;
const MOST_TIMES = 2;

/** Milliseconds of each create, and of each command. */
interface Times {
  readonly creates: number[];
  readonly commands: number[];
}

export const besideAttacks: Bench = {
  name: "beside-attacks",
  promises: [],
  what: "create a sandbox, and run commands, beside a sandbox that takes locks of the machine's kernel without end, against one that only computes (--count: creates)",
  async run(platform, count = CREATES): Promise<BenchResult> {
    const server = { apiUrl: platform.apiUrl, apiKey: platform.apiKey };
    await using attacker = await Sandbox.create({ ...server, timeoutMs: 3_600_000 });
    await using neighbour = await Sandbox.create({ ...server, timeoutMs: 3_600_000 });
    const series: Record<string, Summary> = {};
    const verdicts: Verdict[] = [];
    for (const [name, program] of Object.entries(ATTACKS)) {
      const plain: Times = { creates: [], commands: [] };
      const attacked: Times = { creates: [], commands: [] };
      for (let pair = 0; pair < PAIRS; pair++) {
        for (const [load, times] of [
          [PLAIN, plain],
          [program, attacked],
        ] as const)
          await beside(attacker, load, () => measure(platform, neighbour, Math.ceil(count / PAIRS), times));
      }
      for (const what of ["creates", "commands"] as const) {
        const [alone, beside] = [summarize(plain[what]), summarize(attacked[what])];
        series[`${what} beside ${name}`] = beside;
        series[`${what} beside plain load, in turns with ${name}`] = alone;
        verdicts.push(within(`${what} beside ${name}, p50, against plain load`, beside, alone));
      }
    }
    return { series, verdicts, notes: [] };
  },
};

async function measure(platform: Platform, neighbour: Sandbox, count: number, times: Times): Promise<void> {
  const timed = async (into: number[], deed: () => Promise<unknown>) => {
    const startedAt = performance.now();
    await deed();
    into.push(performance.now() - startedAt);
  };
  await repeat(1, () => neighbour.commands.run("true"), 1);
  for (let round = 0; round < count; round++) {
    let made: Sandbox | undefined;
    await timed(times.creates, async () => {
      made = await Sandbox.create({ apiUrl: platform.apiUrl, apiKey: platform.apiKey });
    });
    for (let command = 0; command < COMMANDS_PER_CREATE; command++) await timed(times.commands, () => neighbour.commands.run("true"));
    await made?.kill();
  }
}

function within(promise: string, { p50 }: Summary, plain: Summary): Verdict {
  const ratio = Math.round((p50 / plain.p50) * 10) / 10;
  return { promise: `${promise} ≤ ${MOST_TIMES} ×`, measured: `${ratio} × (${p50} and ${plain.p50} ms)`, kept: ratio <= MOST_TIMES };
}
