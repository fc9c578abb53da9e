import { type InitBody, runProcess, startProcess } from "@boxyard/agent-client";
import type { Step } from "@boxyard/core";
import type { SandboxSpec } from "@boxyard/driver";
import type { SandboxRecord, TemplateSpec } from "../../store/index.ts";
import { isOnlySleep, untilReady } from "../../templates/ready.ts";
import { addressOf } from "../engine/sandbox.ts";
import type { Transition, TransitionContext } from "../engine/transition.ts";
import { CREATE_MS } from "../new-record.ts";

/** By this tag the start command is told from others (docs/contract/client.md, A process). */
export const START_TAG = "start-command";

/** Its environment stands below the user's; its start command is run. */
export type CreateTemplate = Pick<TemplateSpec, "env" | "startCmd" | "readyCmd">;

export interface CreateContext extends TransitionContext {
  readonly template: CreateTemplate;
}

const create: Step<CreateContext> = {
  name: "create",
  async run({ parts, sandbox }, _undo, signal) {
    await parts.driver.create(specOf(sandbox.record), signal);
  },
};

const start: Step<CreateContext> = {
  name: "start",
  run: ({ parts, sandbox }, _undo, signal) => parts.driver.start(sandbox.handle, signal),
};

const init: Step<CreateContext> = {
  name: "init",
  async run(context, _undo, signal) {
    const { parts, sandbox } = context;
    const address = await parts.driver.address(sandbox.handle);
    await parts.agent.init(address, sandbox.record.facts.initKey, initBodyOf(context), signal);
    if (sandbox.incarnation) sandbox.incarnation.address = address;
  },
};

/** What the template wants to run in every sandbox. The create is answered when that is ready; it goes on when the server lets go of it. */
const startCommand: Step<CreateContext> = {
  name: "startCommand",
  async run({ parts, sandbox, template }, _undo, signal) {
    const { startCmd, readyCmd } = template;
    if (!startCmd && !readyCmd) return;
    const { user, workdir } = sandbox.record.facts;
    const agent = { address: addressOf(sandbox), accessToken: parts.tokens.access(sandbox.id) };
    const shell = (command: string) => ({ cmd: "/bin/bash", args: ["-l", "-c", command], user, cwd: workdir });
    if (startCmd) (await startProcess(agent, { ...shell(startCmd), tag: START_TAG }, {}, signal)).letGo();
    if (!readyCmd || isOnlySleep(readyCmd)) return;
    await untilReady(async () => (await runProcess(agent, shell(readyCmd), {}, signal)).exitCode === 0, parts.clock, signal);
  },
};

/** Makes a sandbox. No step has an undo of its own: what a failed create has made is removed by the transition `kill`. */
export const createTransition: Transition<CreateTemplate, CreateContext> = {
  name: "create",
  from: [],
  via: "creating",
  to: "running",
  onFailure: "remove",
  limitMs: CREATE_MS,
  prepare: (base, template) => ({ ...base, template }),
  steps: [create, start, init, startCommand],
  /** The lifetime begins here, so that starting takes nothing of it. */
  result({ parts, sandbox }) {
    const startedAt = parts.clock.now();
    return { startedAt, endAt: startedAt + sandbox.record.facts.timeoutMs };
  },
  done({ parts, sandbox }, took) {
    parts.events.created(sandbox.id, { template: sandbox.record.facts.alias, ...took });
  },
  failed: ({ parts, sandbox }, error) => parts.events.createFailed(sandbox.id, error),
};

/** The driver's view of a sandbox; its labels hold what a server that lost its store would want to know. */
export function specOf(sandbox: SandboxRecord): SandboxSpec {
  const { facts } = sandbox;
  return {
    sandboxId: sandbox.id,
    incarnation: sandbox.incarnation,
    image: facts.image,
    hostname: sandbox.id,
    resources: facts.resources,
    network: { internetAccess: facts.internetAccess },
    agent: { initKey: facts.initKey },
    labels: { team: sandbox.teamId, template: sandbox.templateId, alias: facts.alias, createdAt: String(sandbox.createdAt) },
  };
}

function initBodyOf({ parts, sandbox, template }: CreateContext): InitBody {
  const { id, templateId, facts } = sandbox.record;
  return {
    accessToken: parts.tokens.access(id),
    // The platform's own variables stand above whatever the user sets.
    envVars: { ...template.env, ...facts.envVars, E2B_SANDBOX: "true", E2B_SANDBOX_ID: id, E2B_TEMPLATE_ID: templateId },
    defaultUser: facts.user,
    defaultWorkdir: facts.workdir,
    timestamp: new Date(parts.clock.now()).toISOString(),
    sandboxID: id,
    templateID: templateId,
  };
}
