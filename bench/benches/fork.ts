import { Sandbox } from "@boxyard/sdk";
import { atMost, type Bench, type BenchResult } from "../lib/bench.ts";
import { summarize } from "../lib/stats.ts";

const COPIES = 100;
const ROUNDS = 10;

export const fork: Bench = {
  name: "fork",
  promises: [12],
  what: `forks of a small running sandbox: one, and ${COPIES} at once (--count), each with a command's result`,
  async run(platform, count = COPIES): Promise<BenchResult> {
    const options = { apiUrl: platform.apiUrl, apiKey: platform.apiKey, timeoutMs: 600_000 };
    const source = await Sandbox.create(options);
    const [one, create]: [number[], number[]] = [[], []];
    try {
      await source.commands.run("sleep infinity", { background: true, timeoutMs: 0 });
      for (let round = 0; round < ROUNDS; round++) {
        one.push(await timed(async () => end(await source.fork())));
        create.push(await timed(async () => (await Sandbox.create(options)).kill()));
      }
      const startedAt = performance.now();
      const copies = await source.fork({ count, timeoutMs: 600_000, requestTimeoutMs: 600_000 });
      const totalMs = performance.now() - startedAt;
      const answers = await Promise.allSettled(copies.map(({ sandbox }) => sandbox?.commands.run("true")));
      const answering = answers.filter((answer) => answer.status === "fulfilled" && answer.value?.exitCode === 0).length;
      await end(copies);
      const [forked, cold] = [summarize(one), summarize(create)];
      return {
        series: { "one fork, and its end": forked, "one create, and its end": cold },
        verdicts: [
          atMost(`${count} forks`, Math.round(totalMs), 10_000),
          { promise: `${count} of ${count} forks answer a command`, measured: `${answering}`, kept: answering === count },
        ],
        notes: [`one fork takes ${(forked.p50 / cold.p50).toFixed(2)} × a create`],
      };
    } finally {
      await source.kill();
    }
  },
};

async function end(copies: Awaited<ReturnType<Sandbox["fork"]>>): Promise<void> {
  const queue = copies.flatMap(({ sandbox }) => (sandbox ? [sandbox] : []));
  const worker = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) await next.kill();
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
