import { type InitBody, runProcess } from "@boxyard/agent-client";
import type { Step } from "@boxyard/core";
import { addressOf } from "../engine/sandbox.ts";
import { recordOf, type Transition } from "../engine/transition.ts";
import { CREATE_MS, type CreateContext, type CreateTemplate, createStep, initBodyOf, startStep } from "./create.ts";

export interface WarmInput {
  readonly template: CreateTemplate;
  /** Resolves when no create is worked on, or after a while. */
  untilQuiet(signal: AbortSignal): Promise<void>;
}

interface WarmContext extends CreateContext {
  readonly input: WarmInput;
}

/** The step, which begins when no create is worked on: a sandbox that nobody waits for must not take a create's time. */
const inQuiet = ({ name, run }: Step<WarmContext>): Step<WarmContext> => ({
  name,
  async run(context, undo, signal) {
    await context.input.untilQuiet(signal);
    await run(context, undo, signal);
  },
});

const find: Step<WarmContext> = {
  name: "find",
  async run({ parts, sandbox }) {
    const address = await parts.driver.address(sandbox.handle);
    if (sandbox.incarnation) sandbox.incarnation.address = address;
  },
};

/** A program of the platform that ends at once when the agent has not started it: nothing of the template runs before a user has the sandbox. */
const NOTHING = { cmd: "/.boxyard/launch", args: [], cwd: "/" };
/** From the third command on an agent is as quick as it becomes. */
const REHEARSALS = 2;
const REHEARSAL_MS = 2000;

/**
 * Gives the agent what it gets of the template, and has it start commands: what an agent does for the first time takes it two to four times as long as
 * what it has done before. One that was started from memory has done it all, and an `/init` would let its programs run.
 */
const rehearse: Step<WarmContext> = {
  name: "rehearse",
  async run({ parts, sandbox, template, from }, _undo, signal) {
    if (from?.memory) return;
    const { record } = sandbox;
    // Without a time: after a clock that was set back, the `/init` of the claim would count as the older one.
    const { timestamp: _, ...body }: InitBody = initBodyOf(parts, record, template.env);
    await parts.agent.init(addressOf(sandbox), record.facts.initKey, body, signal, sandbox.handle);
    sandbox.isRehearsed = true;
    const agent = { address: addressOf(sandbox), accessToken: parts.tokens.access(sandbox.id) };
    for (let left = REHEARSALS; left > 0; left--) {
      await runProcess(agent, { ...NOTHING, user: record.facts.user, limitMs: REHEARSAL_MS }, {}, signal).catch(() =>
        signal.throwIfAborted(),
      );
    }
  },
};

/** Makes a sandbox of the pool: the steps of a create that need nothing of a user. As there, what has failed is removed by `kill`. */
export const warm: Transition<WarmInput, WarmContext> = {
  name: "warm",
  from: [],
  via: "creating",
  to: "running",
  onFailure: "remove",
  limitMs: CREATE_MS,
  prepare: (base, input) => {
    const { template } = input;
    return { ...base, input, template, from: template.from, isCreated: false, isUnawaited: true };
  },
  steps: [createStep, inQuiet(startStep), find, inQuiet(rehearse)],
  output: recordOf,
  result: ({ from }) => (from ? { checkpointId: from.snapshot } : {}),
  done: ({ parts, sandbox }, took) => parts.events.warmed(sandbox.record, took),
  failed: ({ parts, sandbox }, error) => parts.events.notWarmed(sandbox.id, error),
};
