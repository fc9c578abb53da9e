import { addressOf } from "../engine/sandbox.ts";
import type { TransitionContext } from "../engine/transition.ts";

/** Also when nobody waits any more: what stands still must go on. */
const UNFREEZE_MS = 10_000;

/** The agent stops its commands; it goes on itself. Throws `unavailable`, reason `agent_silent` or `not_frozen`. */
export async function freezeCommands({ parts, sandbox }: TransitionContext, signal: AbortSignal): Promise<void> {
  await parts.agent.freeze(addressOf(sandbox), parts.tokens.access(sandbox.id), signal);
}

/** Lets them go on; repeatable. */
export async function unfreezeCommands({ parts, sandbox }: TransitionContext): Promise<void> {
  await parts.agent.unfreeze(addressOf(sandbox), parts.tokens.access(sandbox.id), AbortSignal.timeout(UNFREEZE_MS));
}
