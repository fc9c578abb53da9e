import { Sandbox } from "@boxyard/sdk";
import type { Platform } from "@boxyard/testkit";
import { ATTACKS, PLAIN } from "../lib/attacks.ts";
import type { Bench, BenchResult, Verdict } from "../lib/bench.ts";
import { inTurns, timed, withinTwice } from "../lib/beside.ts";
import { repeat, type Summary, summarize } from "../lib/stats.ts";

/** Creates beside each attack, and as many beside plain load. */
const CREATES = 12;
const COMMANDS_PER_CREATE = 3;

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
      const loads = [
        { program: PLAIN, times: plain },
        { program, times: attacked },
      ] as const;
      await inTurns(attacker, loads, count, (share, times) => measure(platform, neighbour, share, times));
      for (const what of ["creates", "commands"] as const) {
        const [alone, beside] = [summarize(plain[what]), summarize(attacked[what])];
        series[`${what} beside ${name}`] = beside;
        series[`${what} beside plain load, in turns with ${name}`] = alone;
        verdicts.push(withinTwice(`${what} beside ${name}, p50, against plain load`, beside.p50, alone.p50));
      }
    }
    return { series, verdicts, notes: [] };
  },
};

async function measure(platform: Platform, neighbour: Sandbox, count: number, times: Times): Promise<void> {
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
