import type { CommandHandle, Sandbox } from "@boxyard/sdk";
import { eventually } from "@boxyard/testkit";
import type { Verdict } from "./bench.ts";

/** Nobody waits for the end of the programs. */
const NO_LIMIT = 0;

/** Runs `work` while a program in Python runs in a sandbox, from when it has said `attacks`. */
export async function beside(attacker: Sandbox, program: string, work: () => Promise<void>): Promise<void> {
  await attacker.files.write("/tmp/attack.py", program);
  const command: CommandHandle = await attacker.commands.run("exec python3 /tmp/attack.py", {
    user: "root",
    background: true,
    timeoutMs: NO_LIMIT,
  });
  try {
    await eventually("the attack has begun", () => command.stdout.includes("attacks"));
    await work();
    if (command.exitCode !== undefined) throw new Error(`the attack ended: ${command.stderr}`);
  } finally {
    await command.kill();
  }
}

/** A load alternates with plain load in so many pairs by default, so that both meet the same machine. */
const PAIRS = 2;
const MOST_TIMES = 2;

/** A program in Python, and what is measured beside it. */
export interface Load<T> {
  readonly program: string;
  readonly times: T;
}

/** Measures beside two loads of a sandbox in turns: `count` in all beside each, in so many pairs of turns. */
export async function inTurns<T>(
  attacker: Sandbox,
  loads: readonly [Load<T>, Load<T>],
  count: number,
  measure: (count: number, times: T) => Promise<void>,
  pairs = PAIRS,
): Promise<void> {
  for (let pair = 0; pair < pairs; pair++) {
    for (const { program, times } of loads) await beside(attacker, program, () => measure(Math.ceil(count / pairs), times));
  }
}

/** Adds to `into` how long a deed takes, in milliseconds. */
export async function timed(into: number[], deed: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now();
  await deed();
  into.push(performance.now() - startedAt);
}

/** That a time beside a load is at most twice the one beside plain load. */
export function withinTwice(promise: string, ms: number, plainMs: number): Verdict {
  const ratio = Math.round((ms / plainMs) * 10) / 10;
  return { promise: `${promise} ≤ ${MOST_TIMES} ×`, measured: `${ratio} × (${ms} and ${plainMs} ms)`, kept: ratio <= MOST_TIMES };
}
