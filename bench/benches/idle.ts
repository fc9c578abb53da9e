import { Sandbox } from "@boxyard/sdk";
import type { Platform } from "@boxyard/testkit";
import type { Bench, BenchResult } from "../lib/bench.ts";
import { Many } from "../lib/many.ts";
import { privateBytes } from "../lib/memory.ts";
import { repeat, summarize } from "../lib/stats.ts";
import { Usage } from "../lib/trace/usage.ts";

/** As many as fit in two minutes; the promise is about 1,000. */
const COUNT = 100;
const SETTLE_MS = 2_000;
const COMMANDS = 100;

export const idle: Bench = {
  name: "idle",
  promises: [5],
  what: `private memory of idle sandboxes, and how much ${COUNT} of them slow a command of another sandbox (--count 1000 for the promise)`,
  async run(platform, count = COUNT): Promise<BenchResult> {
    const { apiUrl, apiKey } = platform;
    await using sandbox = await Sandbox.create({ apiUrl, apiKey, timeoutMs: 3_600_000 });
    const exec = () => repeat(COMMANDS, async () => (await sandbox.commands.spawn(["/bin/true"])).wait(), 20);
    const alone = await exec();
    await using many = await Many.create(platform, count);
    await Bun.sleep(SETTLE_MS);
    const memory = { ...summarize(memoryOf(platform, many)), unit: "MB" };
    const among = await exec();
    const ratio = Math.round((among.p50 / alone.p50) * 100) / 100;
    return {
      series: {
        "private memory of a sandbox": memory,
        "a command, with no other sandbox": alone,
        [`a command, beside ${count} idle sandboxes`]: among,
      },
      verdicts: [
        { promise: "private memory of an idle sandbox ≤ 6 MB", measured: `${memory.p50} MB`, kept: memory.p50 <= 6 },
        { promise: `a command's p50 at most doubled by ${count}`, measured: `${ratio} ×`, kept: ratio <= 2 },
      ],
      notes: count < 1_000 ? [`${count} sandboxes; the promise is about 1,000`] : [],
    };
  },
};

/** Private memory in MB of each sandbox: of its init and its agent together. */
function memoryOf(platform: Platform, { sandboxes }: Many): number[] {
  const usage = new Usage(platform);
  return sandboxes.map(({ sandboxId }) => usage.pidsOf(sandboxId).reduce((sum, pid) => sum + privateBytes(pid), 0) / 1e6);
}
