import { Cleanup, type Step } from "@boxyard/core";
import type { SandboxRecord } from "../../store/index.ts";
import { recordOf, type Transition } from "../engine/transition.ts";
import { type Keeping, keepSandbox, PAUSE_MS } from "./pause.ts";
import { dropGeneration, initAgent, RESUME_MS, started, startFrom } from "./resume.ts";
import { asPaused, withNextIncarnation } from "./rollback.ts";

export interface RebootInput {
  /** Aborts when the server ends: then `keep` is aborted, and no second boot is tried. A first boot goes on. */
  readonly stop: AbortSignal;
}

export interface RebootContext extends Keeping, RebootInput {
  readonly before: SandboxRecord;
  /** The rest of the sandbox's lifetime. */
  readonly timeoutMs: number;
}

const DISK = { memory: false };

/** The agent is not asked to freeze its commands, because it does not answer. The driver freezes the whole sandbox. */
const keep: Step<RebootContext> = {
  name: "keep",
  run: (context, _undo, signal) => keepSandbox(context, false, AbortSignal.any([signal, context.stop])),
};

const changeIncarnation: Step<RebootContext> = {
  name: "changeIncarnation",
  run: (context) => context.change(withNextIncarnation(context, false)),
};

/** Tried twice, because a resource may have been missing for a moment only. */
const boot: Step<RebootContext> = {
  name: "boot",
  async run(context, undo, signal) {
    const { parts, sandbox } = context;
    const first = new Cleanup((_name, error) => parts.events.undoFailed(sandbox.id, "reboot", error));
    try {
      await bootOnce(context, first, signal);
      undo.add("revert", () => first.run());
    } catch (error) {
      await first.run();
      if (signal.aborted || context.stop.aborted) throw error;
      await bootOnce(context, undo, signal);
    }
  },
};

async function bootOnce(context: RebootContext, undo: Cleanup, signal: AbortSignal): Promise<void> {
  await startFrom(context, DISK, undo, signal);
  await initAgent(context, DISK, signal);
}

/**
 * Ends the processes of a sandbox whose agent hangs, and boots the sandbox from its disk. It keeps its id, token, metadata, network and the time
 * that it has left; its memory is lost. When the disk cannot be kept, the sandbox runs on. When it does not boot, or the server dies after `keep`,
 * it stays paused with its disk.
 */
export const reboot: Transition<RebootInput, RebootContext> = {
  name: "reboot",
  from: ["running"],
  via: "rebooting",
  to: "running",
  onFailure: "return",
  limitMs: PAUSE_MS + RESUME_MS,
  prepare(base, input) {
    const { record } = base.sandbox;
    return { ...base, ...input, before: record, timeoutMs: record.endAt - base.parts.clock.now(), isKept: false };
  },
  steps: [keep, changeIncarnation, boot],
  output: recordOf,
  settled: (context) => (context.isKept ? asPaused(context, false) : undefined),
  result: (context) => started(context, context.timeoutMs),
  done(context) {
    context.parts.events.rebooted(context.sandbox.record);
    void dropGeneration(context);
  },
  failed({ parts, sandbox }, error) {
    if (!sandbox.interrupted.aborted) parts.events.notRebooted(sandbox.record, error);
  },
};
