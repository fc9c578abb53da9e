import { Sandbox } from "@boxyard/sdk";
import { atMost, type Bench, type BenchResult } from "../lib/bench.ts";
import { summarize } from "../lib/stats.ts";

const ROUNDS = 10;
/** Reads the clock every 2 ms and keeps the longest gap between two reads. The file /tmp/begin resets the gap; /tmp/ask makes it write the gap to /tmp/answer. */
const WATCH = `exec python3 -uc '
import os, time
longest, last = 0, time.monotonic()
while True:
    time.sleep(0.002)
    now = time.monotonic()
    longest, last = max(longest, now - last), now
    if os.path.exists("/tmp/begin"):
        os.remove("/tmp/begin")
        longest = 0
    if os.path.exists("/tmp/ask"):
        open("/tmp/answer.new", "w").write(str(longest * 1000))
        os.rename("/tmp/answer.new", "/tmp/answer")
        os.remove("/tmp/ask")
'`;

export const snapshot: Bench = {
  name: "snapshot",
  promises: [12],
  what: "snapshot of a small running sandbox, how long it stands still meanwhile, and a create from it (--count)",
  async run(platform, count = ROUNDS): Promise<BenchResult> {
    const options = { apiUrl: platform.apiUrl, apiKey: platform.apiKey, timeoutMs: 600_000 };
    const [taken, still, idle, created]: [number[], number[], number[], number[]] = [[], [], [], []];
    const source = await Sandbox.create(options);
    try {
      await source.commands.run(WATCH, { background: true, timeoutMs: 0 });
      idle.push(await longestGap(source, () => Bun.sleep(500)));
      for (let round = 0; round < count; round++) {
        let id = "";
        const gap = await longestGap(source, async () => {
          const startedAt = performance.now();
          id = (await source.createSnapshot()).snapshotId;
          taken.push(performance.now() - startedAt);
        });
        still.push(gap);
        const startedAt = performance.now();
        const clone = await Sandbox.create(id, options);
        await clone.commands.run("true");
        created.push(performance.now() - startedAt);
        await clone.kill();
        await Sandbox.deleteSnapshot(id, options);
      }
    } finally {
      await source.kill();
    }
    const [snapshots, stills] = [summarize(taken), summarize(still)];
    return {
      series: { snapshot: snapshots, "stand-still": stills, "create from it to the first command's result": summarize(created) },
      verdicts: [atMost("snapshot of a small one, p50", snapshots.p50, 250), atMost("stand-still of a small one, p50", stills.p50, 250)],
      notes: [`longest gap of the clock inside without a snapshot: ${idle[0]?.toFixed(1)} ms`],
    };
  },
};

/** The longest time in milliseconds for which no process inside ran while `work` was under way. */
async function longestGap(sandbox: Sandbox, work: () => Promise<unknown>): Promise<number> {
  await sandbox.files.write("/tmp/begin", "");
  while (await sandbox.files.exists("/tmp/begin")) await Bun.sleep(5);
  await work();
  await sandbox.files.write("/tmp/ask", "");
  while (await sandbox.files.exists("/tmp/ask")) await Bun.sleep(5);
  return Number(await sandbox.files.read("/tmp/answer"));
}
