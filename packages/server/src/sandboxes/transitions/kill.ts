import { AppError, type Step, within } from "@boxyard/core";
import type { EndCause, SandboxUsage } from "../../store/index.ts";
import { type RecordChange, recordOf, type Transition, type TransitionContext } from "../engine/transition.ts";

const DESTROY_MS = 60_000;

export interface KillContext extends TransitionContext {
  readonly cause: EndCause;
  usage: SandboxUsage | undefined;
}

/** The last look at what it has used, while the machine still counts it. */
const measure: Step<KillContext> = {
  name: "measure",
  run: async (context) => {
    context.usage = await context.parts.metering?.settle(context.sandbox);
  },
};

/** Removes everything of the sandbox from the machine: processes, disk, network, paused state. Repeatable. */
const destroy: Step<KillContext> = {
  name: "destroy",
  run: ({ parts, sandbox }) => within(parts.driver.destroy(sandbox.handle), DESTROY_MS, tooLong),
};

const tooLong = () => new AppError("deadline_exceeded", "Removing the sandbox takes too long");

/** Removes a sandbox, from every state. */
export const kill: Transition<{ readonly cause: EndCause }, KillContext> = {
  name: "kill",
  from: ["creating", "running", "pausing", "snapshotting", "paused", "resuming", "rollingBack", "rebooting", "failed"],
  via: "killing",
  to: "dead",
  onFailure: "retry",
  ignoresStore: true,
  prepare: (base, { cause }) => ({ ...base, cause, usage: undefined }),
  intent: ({ parts, cause }) => ({ reason: cause, endedAt: parts.clock.now() }),
  steps: [measure, destroy],
  output: recordOf,
  /** Reason and time are those of the intent, because the store may not have taken that. */
  result: ({ sandbox: { record }, usage }): RecordChange => ({
    ...(usage && { usage }),
    ...(record.reason === undefined ? {} : { reason: record.reason }),
    ...(record.endedAt === undefined ? {} : { endedAt: record.endedAt }),
  }),
  begun: ({ parts, sandbox, cause }) => parts.events.ended(sandbox.record, cause),
  done: ({ parts, sandbox }) => parts.events.removed(sandbox.id),
  failed: ({ parts, sandbox }, error) => parts.events.removalFailed(sandbox.id, error),
};
