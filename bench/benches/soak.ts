import { eventually, type Platform } from "@boxyard/testkit";
import { keptSandboxes, openDescriptors } from "../../e2e/support/ours.ts";
import type { Bench, BenchResult, Verdict } from "../lib/bench.ts";
import { privateBytes } from "../lib/memory.ts";
import { SoakClient, SoakTally } from "../lib/soak-client.ts";
import { summarize } from "../lib/stats.ts";

const SECONDS = 60;
const CLIENTS = 8;
/** How many more descriptors the server may hold afterwards: it keeps connections for later requests. */
const MORE_DESCRIPTORS = 20;
/** How many failures of a kind are shown. */
const SHOWN = 5;

export const soak: Bench = {
  name: "soak",
  promises: [],
  what: `${CLIENTS} clients create, use, pause, resume and kill sandboxes for ${SECONDS} s: what is lost, not ended or left (--count: seconds)`,
  async run(platform, count = SECONDS): Promise<BenchResult> {
    const before = stateOf(platform);
    const tally = new SoakTally();
    const until = performance.now() + count * 1000;
    await Promise.all(Array.from({ length: CLIENTS }, () => new SoakClient(platform, tally).run(until)));
    const isEmpty = await eventually("no sandbox is left", () => keptSandboxes(platform).length === 0, { withinMs: 60_000 }).then(
      () => true,
      () => false,
    );
    await eventually("connections are closed", () => openDescriptors(platform.pid) <= before.descriptors + MORE_DESCRIPTORS, {
      withinMs: 60_000,
    }).catch(() => {});
    const after = stateOf(platform);
    return {
      series: Object.fromEntries(Object.entries(tally.times).map(([what, times]) => [what, summarize(times)])),
      verdicts: [
        none("sandboxes lost, or their files or memory", tally.lost),
        none("sandboxes not ended", tally.notEnded),
        none("requests failed", tally.failed),
        none("sandboxes left on the machine", isEmpty ? [] : keptSandboxes(platform)),
        {
          promise: `descriptors of the server at most ${MORE_DESCRIPTORS} more`,
          measured: `${before.descriptors}, then ${after.descriptors}`,
          kept: after.descriptors <= before.descriptors + MORE_DESCRIPTORS,
        },
      ],
      notes: [
        `${tally.lives} sandboxes, ${tally.pauses} pauses with their resumes, ${tally.commands} rounds of a command and an upload in ${count} s`,
        `private memory of the server: ${before.megabytes} MB, then ${after.megabytes} MB`,
      ],
    };
  },
};

const stateOf = ({ pid }: Platform) => ({ descriptors: openDescriptors(pid), megabytes: Math.round(privateBytes(pid) / 1e6) });

function none(what: string, found: readonly string[]): Verdict {
  const examples = found.length === 0 ? "" : `: ${found.slice(0, SHOWN).join("; ")}`;
  return { promise: `no ${what}`, measured: `${found.length}${examples}`, kept: found.length === 0 };
}
