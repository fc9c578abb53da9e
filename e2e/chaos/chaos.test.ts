import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { keptSandboxes } from "../support/ours.ts";
import { usePlatform } from "../support/platform.ts";
import { readChaosConfig } from "./config.ts";
import { Dice } from "./dice.ts";
import { ServerKiller } from "./server-killer.ts";
import { Worker } from "./worker.ts";

const WORKERS = 3;
const { seconds, seed } = readChaosConfig();
const platform = usePlatform({ faults: true });

/*
 * Workers create, use, pause, resume and kill sandboxes of their own while the server is killed (`kill -9`, and between two steps of what it is
 * doing) and its steps fail. Each worker knows what must be true of its sandboxes, and looks. At the end nothing is lost and nothing is left.
 */
test(
  `${seconds} s of chaos: nothing lost, nothing left`,
  async () => {
    console.log(`chaos: ${seconds} s, BOXYARD_CHAOS_SEED=${seed}`);
    const dice = new Dice(seed);
    const killer = new ServerKiller(platform(), new Dice(dice.next() * 2 ** 32));
    const workers = Array.from(
      { length: WORKERS },
      (_, i) => new Worker(platform(), killer, new Dice(dice.next() * 2 ** 32), `chaos-${seed}-${i}`),
    );
    await untilOver(seconds * 1000, (stop) => [killer.run(stop), ...workers.map((worker) => worker.run(stop))]);
    await killer.settle();
    for (const worker of workers) await worker.check();
    const counts = workers.map(({ done }) => done).reduce((a, b) => a + b, 0);
    console.log(`chaos: ${counts} operations, ${killer.kills} kills of the server, ${killer.failures} failed steps`);
    expect(counts).toBeGreaterThan(0);
    expect(killer.kills).toBeGreaterThan(0);
    for (const worker of workers) await worker.killAll();
    await eventually("no sandbox is left", () => keptSandboxes(platform()).length === 0, { withinMs: 60_000 }).catch((error: unknown) => {
      const left = new Set(keptSandboxes(platform()));
      throw new Error(
        `left: ${JSON.stringify(
          platform()
            .log()
            .filter(({ sandboxId }) => left.has(String(sandboxId))),
          undefined,
          1,
        )}`,
        { cause: error },
      );
    });
  },
  (seconds + 240) * 1000,
);

/** Runs everything for a time, or until something fails; all of it has ended when this returns or throws the first failure. */
async function untilOver(ms: number, start: (stop: AbortSignal) => Promise<void>[]): Promise<void> {
  const failed = new AbortController();
  const parts = start(AbortSignal.any([failed.signal, AbortSignal.timeout(ms)]));
  for (const part of parts) part.catch((error: unknown) => failed.abort(error));
  await Promise.allSettled(parts);
  if (failed.signal.aborted) throw failed.signal.reason;
}
