import { Sandbox } from "@boxyard/sdk";
import { atMost, type Bench, type BenchResult } from "../lib/bench.ts";
import { repeat } from "../lib/stats.ts";

/** The SDK may add so much to a request made by hand; the measured value is about half of this. */
const LIMIT_MS = 1;

/** Sends the same command and reads the same file, through the SDK and by hand. */
export const sdk: Bench = {
  name: "sdk",
  promises: [],
  what: "what the SDK adds to a request made by hand: a command, a small file",
  async run(platform): Promise<BenchResult> {
    const { apiUrl, apiKey } = platform;
    await using sandbox = await Sandbox.create({ apiUrl, apiKey });
    const hand = await byHand(apiUrl, apiKey, sandbox.sandboxId);
    await sandbox.files.write("small", "x".repeat(1000));
    // In turns, so that other load of the machine affects both.
    const rounds = 4;
    const measured = { handRun: [] as number[], sdkRun: [] as number[], handRead: [] as number[], sdkRead: [] as number[] };
    // CPU time of this process, which other work on the machine does not change.
    const cpu: typeof measured = { handRun: [], sdkRun: [], handRead: [], sdkRead: [] };
    const take = async (what: keyof typeof measured, times: number, call: () => Promise<unknown>) => {
      const before = process.cpuUsage();
      measured[what].push((await repeat(times, call, 10)).p50);
      const { user, system } = process.cpuUsage(before);
      cpu[what].push((user + system) / 1000 / (times + 10));
    };
    for (let round = 0; round < rounds; round++) {
      await take("handRun", 100, () => hand.run(["/bin/true"]));
      await take("sdkRun", 100, async () => (await sandbox.commands.spawn(["/bin/true"])).wait());
      await take("handRead", 200, () => hand.read("small"));
      await take("sdkRead", 200, () => sandbox.files.read("small"));
    }
    const best = (values: readonly number[]) => Math.min(...values);
    const added = (more: readonly number[], less: readonly number[]) => Math.round((best(more) - best(less)) * 1000) / 1000;
    return {
      series: {},
      verdicts: [
        atMost("a command: added by the SDK, p50", added(measured.sdkRun, measured.handRun), LIMIT_MS),
        atMost("a read of 1 kB: added by the SDK, p50", added(measured.sdkRead, measured.handRead), LIMIT_MS),
      ],
      notes: [
        `command by hand ${best(measured.handRun)} ms, by the SDK ${best(measured.sdkRun)} ms (best p50 of ${rounds} rounds)`,
        `read by hand ${best(measured.handRead)} ms, by the SDK ${best(measured.sdkRead)} ms`,
        `added CPU time of the client: ${added(cpu.sdkRun, cpu.handRun)} ms a command, ${added(cpu.sdkRead, cpu.handRead)} ms a read`,
      ],
    };
  },
};

/** The least code that does the work: one fetch, and a search for the end event in the stream. */
async function byHand(apiUrl: string, apiKey: string, sandboxId: string) {
  const detail = await fetch(`${apiUrl}/sandboxes/${sandboxId}`, { headers: { "X-API-Key": apiKey } });
  const { envdAccessToken } = (await detail.json()) as { envdAccessToken: string };
  const routing = { "Svc-Sandbox-Id": sandboxId, "Svc-Sandbox-Port": "49983", "X-Access-Token": envdAccessToken };
  return {
    async run([cmd = "", ...args]: readonly string[]): Promise<void> {
      const message = Buffer.from(JSON.stringify({ process: { cmd, args, envs: {} }, stdin: false }));
      const head = Buffer.alloc(5);
      head.writeUInt32BE(message.length, 1);
      const response = await fetch(`${apiUrl}/process.Process/Start`, {
        method: "POST",
        headers: { ...routing, "Content-Type": "application/connect+json", "Connect-Protocol-Version": "1" },
        body: Buffer.concat([head, message]),
      });
      if (!(await response.text()).includes('"exited":true')) throw new Error("the command did not end");
    },
    async read(path: string): Promise<void> {
      const response = await fetch(`${apiUrl}/files?path=${path}`, { headers: routing });
      if ((await response.text()).length !== 1000) throw new Error("the file that came has another length");
    },
  };
}
