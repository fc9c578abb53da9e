import { expect, test } from "bun:test";
import { usePlatform } from "../support/platform.ts";
import { childrenOf } from "../support/processes.ts";
import { createSandbox } from "../support/sandbox.ts";
import { ONE_WARM, untilWarm } from "../support/warm.ts";
import { callsOf, startedBy } from "./traced.ts";

/*
 * What a create and a command cost, as counts, for times say nothing on a machine that is busy. Each count is the fewest of several tries: what the server does in
 * the background, and looks more often at on a busy machine, only adds to it. Calls are those of the server's main thread. Each limit is about half as much again as what was measured, so
 * that a change which adds processes, or reads of files for each create, does not fit. `./boxyard bench` measures times.
 */

/** Measured in November 2026: up to 10 processes and 7 programs, 0 of both for a command; 713, 60 and 7 calls. */
const MOST = {
  create: { processes: 15, programs: 10, calls: 1000 },
  // Up to 105 on a busy machine, where a claim takes longer, and the looks of the server in that time are among its calls.
  claim: { calls: 150 },
  command: { processes: 0, programs: 0, calls: 20 },
} as const;

const platform = usePlatform({ own: true });
const TIMES = 10;
const TRIES = 4;
const ROUNDS = 3;

const live = async () => {
  await using _sandbox = await createSandbox(platform());
};
async function times(work: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < TIMES; i++) await work();
}
/** The server, and the fork server that starts what sandboxes need. */
const servers = () => [platform().pid, ...childrenOf(platform().pid)];

/** The fewest processes and programs that several tries of a few rounds have started, for each round. */
async function fewestStarted(work: () => Promise<unknown>): Promise<{ processes: number; programs: number }> {
  const tries: { processes: number; programs: number }[] = [];
  for (let i = 0; i < TRIES; i++)
    tries.push(
      await startedBy(servers(), async () => {
        for (let round = 0; round < ROUNDS; round++) await work();
      }),
    );
  const fewest = (what: "processes" | "programs") => Math.min(...tries.map((started) => started[what])) / ROUNDS;
  return { processes: fewest("processes"), programs: fewest("programs") };
}

/** The fewest calls of the server's main thread in several tries; `prepare` is not counted. */
async function fewestCalls(work: () => Promise<unknown>, prepare: () => Promise<unknown> = async () => {}): Promise<number> {
  const counts: number[] = [];
  for (let i = 0; i < TIMES; i++) {
    await prepare();
    counts.push(await callsOf([platform().pid], work));
  }
  return Math.min(...counts);
}

test("a create and its removal take few processes, programs and calls", async () => {
  await times(live);
  const { processes, programs } = await fewestStarted(live);
  // Those of the sandbox are among them: fewer would mean that they were not seen.
  expect(programs).toBeGreaterThanOrEqual(1);
  expect(processes).toBeLessThanOrEqual(MOST.create.processes);
  expect(programs).toBeLessThanOrEqual(MOST.create.programs);
  expect(await fewestCalls(live)).toBeLessThanOrEqual(MOST.create.calls);
}, 120_000);

test("a create from the pool takes a fraction of these calls", async () => {
  await platform().restart([], ONE_WARM);
  await live();
  await times(async () => {
    await untilWarm(platform());
    await live();
  });
  const made: AsyncDisposable[] = [];
  const end = async () => {
    for (const sandbox of made.splice(0)) await sandbox[Symbol.asyncDispose]();
    await untilWarm(platform());
  };
  const calls = await fewestCalls(async () => void made.push(await createSandbox(platform())), end);
  await end();
  expect(calls).toBeLessThanOrEqual(MOST.claim.calls);
}, 120_000);

test("a command starts no process outside of its sandbox's launcher, and takes few calls", async () => {
  await using sandbox = await createSandbox(platform());
  const run = () => sandbox.client.commands.run("true");
  await times(run);
  const { processes, programs } = MOST.command;
  expect(await fewestStarted(run)).toEqual({ processes, programs });
  expect(await fewestCalls(run)).toBeLessThanOrEqual(MOST.command.calls);
}, 120_000);
