import { processCpuMs } from "@boxyard/core/node";
import { type CommandHandle, Sandbox } from "@boxyard/sdk";
import type { Platform } from "@boxyard/testkit";
import { atMost, type Bench, type BenchResult } from "../lib/bench.ts";
import { inParallel, Many } from "../lib/many.ts";
import { summarize } from "../lib/stats.ts";

const ROUNDS = 3;
/** Counts without end from the moment /tmp/go exists, when no client reads the output: so the agent keeps the whole output for the next client. Starts no process. */
const COUNT = "until [ -e /tmp/go ]; do sleep 0.05; done; exec 3<> <(:); i=0; while :; do i=$((i+1)); echo $i; read -t 0.5 -u 3; done";
/** So many numbers show that the command still runs. */
const ENOUGH = 8;

export const adopt: Bench = {
  name: "adopt",
  promises: [11],
  what: "server killed and started again with 100 sandboxes, in each a command that keeps running (--count)",
  async run(platform, count = 100): Promise<BenchResult> {
    await using many = await Many.create(platform, count);
    const commands = await inParallel(count, (index) => counting(many.sandboxes[index] as Sandbox));
    const times: number[] = [];
    const cpu: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await platform.kill9();
      const startedAt = performance.now();
      await platform.restart();
      times.push(performance.now() - startedAt);
      cpu.push(processCpuMs(platform.pid));
    }
    const adopted = await runningOf(platform);
    const undisturbed = (
      await inParallel(count, (index) => goesOn(many.sandboxes[index] as Sandbox, commands[index] as CommandHandle))
    ).filter(Boolean).length;
    const series = {
      "from the start of the server's process until it serves": summarize(times),
      "CPU that it took for that": summarize(cpu),
    };
    return {
      series,
      verdicts: [
        atMost("the server serves again, all adopted, p50", summarize(times).p50, 1_000),
        { promise: `${count} adopted`, measured: String(adopted), kept: adopted === count },
        {
          promise: "no running command disturbed",
          measured: `${undisturbed} of ${count} keep running, no line missing`,
          kept: undisturbed === count,
        },
      ],
      notes: [`killed ${ROUNDS} times`],
    };
  },
};

async function counting(sandbox: Sandbox): Promise<CommandHandle> {
  const handle = await sandbox.commands.run(COUNT, { background: true, timeoutMs: 0 });
  await handle.disconnect();
  await sandbox.commands.run("touch /tmp/go");
  return handle;
}

async function runningOf({ apiUrl, apiKey }: Platform): Promise<number> {
  return (await Array.fromAsync(Sandbox.list({ apiUrl, apiKey }))).length;
}

/** The command still counts, and every number since its start is in its output, once. */
async function goesOn(sandbox: Sandbox, { pid }: CommandHandle): Promise<boolean> {
  let text = "";
  const enough = Promise.withResolvers<void>();
  const again = await sandbox.commands.connect(pid, {
    timeoutMs: 0,
    onStdout(data) {
      text += data;
      if (text.split("\n").length > ENOUGH) enough.resolve();
    },
  });
  await Promise.race([enough.promise, again.wait().catch(() => {})]);
  await again.kill();
  const numbers = text.trim().split("\n").map(Number);
  return numbers.length >= ENOUGH && numbers.every((number, index) => number === index + 1);
}
