import { recordOf, type Transition, type TransitionContext } from "../engine/transition.ts";
import { CREATE_MS, type CreateContext, type CreateTemplate, createStep, startStep } from "./create.ts";

/** The agent can be reached, and has not been told anything: its `/init` comes with the claim. */
const find = {
  name: "find",
  async run({ parts, sandbox }: TransitionContext) {
    const address = await parts.driver.address(sandbox.handle);
    if (sandbox.incarnation) sandbox.incarnation.address = address;
  },
};

/** Makes a sandbox of the pool: the steps of a create that need nothing of a user. As there, what has failed is removed by `kill`. */
export const warm: Transition<CreateTemplate, CreateContext> = {
  name: "warm",
  from: [],
  via: "creating",
  to: "running",
  onFailure: "remove",
  limitMs: CREATE_MS,
  prepare: (base, template) => ({ ...base, template, from: template.from, isCreated: false }),
  steps: [createStep, startStep, find],
  output: recordOf,
  result: ({ from }) => (from ? { checkpointId: from.snapshot } : {}),
  done: ({ parts, sandbox }, took) => parts.events.warmed(sandbox.record, took),
  failed: ({ parts, sandbox }, error) => parts.events.notWarmed(sandbox.id, error),
};
