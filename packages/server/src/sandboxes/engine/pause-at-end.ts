import { isAppError } from "@boxyard/core";
import type { PauseCause } from "../../store/index.ts";
import { isStoreAway } from "../../store/store-fault.ts";
import type { PauseInput } from "./own-transitions.ts";
import type { EngineParts } from "./parts.ts";
import type { Sandbox } from "./sandbox.ts";

/** By how much the end of a sandbox is moved when its time is over and its pause fails. */
const RETRY_MS = 30_000;
/** After so many failures the disk alone is kept, even if nothing says that the memory can never be kept. */
const TRIES_WITH_MEMORY = 3;
/** After so many failures the sandbox is ended: it must not outlive its time for ever. */
const MOST_TRIES = 10;

/** What follows for a sandbox whose time is over: it is paused, it is left as it is, its end moves to `endAt`, or it is ended without a pause. */
export type AtEnd = "paused" | "leave" | "end" | { readonly endAt: number };

/**
 * Tries to pause a sandbox whose time is over. When its memory cannot be kept, its disk is: a program inside can do what no memory image can hold, and
 * would live for ever otherwise. That pause does not ask the agent, which may hang. `tryPause` runs the transition.
 */
export async function pauseAtEnd(
  { clock, events }: Pick<EngineParts, "clock" | "events">,
  sandbox: Sandbox,
  { memory, cause }: { readonly memory: boolean; readonly cause: Exclude<PauseCause, "requested"> },
  tryPause: (input: PauseInput) => Promise<unknown>,
): Promise<AtEnd> {
  const tries = beginTry(sandbox, cause === "idle" ? sandbox.idleRetryAt : sandbox.record.endAt);
  let failure = await failureOf(tryPause({ memory, asksAgent: memory, cause }));
  if (failure && memory && sandbox.state === "running" && !isPassing(failure.error, tries)) {
    const { error } = failure;
    failure = await failureOf(tryPause({ memory: false, asksAgent: false, cause }));
    if (!failure) events.memoryNotKept(sandbox.record, error);
  }
  if (!failure) return "paused";
  // The sandbox is being removed, or the sweep has to settle it first.
  if (sandbox.state !== "running" || sandbox.interrupted.aborted) return "leave";
  if (!isStoreAway(failure.error) && tries >= MOST_TRIES) return "end";
  const endAt = clock.now() + RETRY_MS;
  // A store that is away says nothing about the sandbox: such tries do not count.
  sandbox.lateEnd = { endAt, tries: isStoreAway(failure.error) ? tries - 1 : tries };
  return { endAt };
}

/** True when a later try may keep the memory. A refusal says that something in the sandbox cannot be kept. */
const isPassing = (error: unknown, tries: number): boolean =>
  isStoreAway(error) || (!isAppError(error, "failed_precondition") && tries < TRIES_WITH_MEMORY);

const failureOf = (work: Promise<unknown>): Promise<{ readonly error: unknown } | undefined> =>
  work.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );

/** Counts the tries for one end of the time: the count begins anew when a client has moved the end. */
function beginTry(sandbox: Sandbox, endAt: number): number {
  const before = sandbox.lateEnd?.endAt === endAt ? sandbox.lateEnd.tries : 0;
  sandbox.lateEnd = { endAt, tries: before + 1 };
  return before + 1;
}
