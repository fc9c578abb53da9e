import { AppError } from "@boxyard/core";

/** How long a killed process may take to end. One that waits for a device ends only when the device answers, and one in a frozen cgroup when that thaws. */
const KILLED_MS = 10_000;

/**
 * Kills a child that takes longer than `limitMs`, and waits for its end, but no longer than `killedMs`. Throws `unavailable`: reason `child_hung` for a
 * child that had to be killed, `child_stays` for one that has not ended since, and may still work.
 */
export async function within(limitMs: number, ended: Promise<number>, kill: () => void, killedMs = KILLED_MS): Promise<number> {
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    kill();
  }, limitMs);
  const code = await untilKilled(limitMs + killedMs, ended).finally(() => clearTimeout(timer));
  if (code === undefined) throw childFault("child_stays", `has not ended ${killedMs / 1000} s after it was killed`);
  if (!isLate) return code;
  throw childFault("child_hung", `did not end within ${limitMs / 1000} s, and was killed; try again`);
}

/** Waits for the end of a killed child for a bounded time; undefined when it has not ended by then. */
async function untilKilled(limitMs: number, ended: Promise<number>): Promise<number | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), limitMs);
  return Promise.race([ended, late.promise]).finally(() => clearTimeout(timer));
}

/** Waits for the end of a child that was killed because nobody needs it. A child that stays is left to the kernel. */
export async function untilDiscarded(ended: Promise<number>, killedMs = KILLED_MS): Promise<void> {
  await untilKilled(killedMs, ended).catch(() => {});
}

const childFault = (reason: string, what: string) =>
  new AppError("unavailable", `A program that the server needs for this ${what}`, { reason });
