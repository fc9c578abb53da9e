import { Sandbox } from "@boxyard/sdk";
import { Template } from "@boxyard/sdk/template";
import { atMost, type Bench, type BenchResult, timesFaster } from "../lib/bench.ts";
import { withTemplate } from "../lib/builds.ts";
import { summarize } from "../lib/stats.ts";

const ROUNDS = 10;
const COLD_ROUNDS = 3;
/** Takes 3 s until it is ready, as the code interpreter's does. */
const SLOW_START = "sleep 3; exec python3 -m http.server 8000";
const READY = "curl -sf localhost:8000 > /dev/null";
const ASK = "curl -sf -o /dev/null -w '%{http_code}' localhost:8000";

export const startFromMemory: Bench = {
  name: "start-from-memory",
  promises: [17],
  what: "create of a template whose start command takes 3 s to be ready, to its first answer: from memory, and booted (--count)",
  async run(platform, count = ROUNDS): Promise<BenchResult> {
    const options = { apiUrl: platform.apiUrl, apiKey: platform.apiKey };
    const template = Template.fromTemplate("base").setStartCmd(SLOW_START, READY);
    const timesOf = (rounds: number, fromMemory: boolean) =>
      withTemplate(platform, async (name) => {
        await template.startFromMemory(fromMemory).build(name, options);
        const times: number[] = [];
        for (let round = 0; round < rounds; round++) times.push(await answered(name, options));
        return summarize(times);
      });
    const from = await timesOf(count, true);
    const booted = await timesOf(Math.min(count, COLD_ROUNDS), false);
    return {
      series: { "from memory": from, booted },
      verdicts: [
        atMost("create to first answer from memory, p50", from.p50, 600),
        timesFaster("than a boot with its start command", from.p50, booted.p50, 5),
      ],
      notes: [],
    };
  },
};

/** Milliseconds from the create to the first answer of what the start command serves. */
async function answered(template: string, options: { apiUrl: string; apiKey: string }): Promise<number> {
  const startedAt = performance.now();
  const sandbox = await Sandbox.create(template, options);
  try {
    const { stdout } = await sandbox.commands.run(ASK);
    if (stdout !== "200") throw new Error(`the start command's server answered ${stdout}`);
    return performance.now() - startedAt;
  } finally {
    await sandbox.kill();
  }
}
