import { type InitBody, runProcess, startProcess } from "@boxyard/agent-client";
import { AppError, type Step } from "@boxyard/core";
import type { AgentAddress, SandboxSpec } from "@boxyard/driver";
import type { SandboxRecord, TemplateSpec } from "../store/index.ts";
import { isOnlySleep, untilReady } from "../templates/ready.ts";
import type { LifecycleDeps } from "./lifecycle.ts";
import type { LiveSandbox } from "./live.ts";

/** By this tag the start command is told from others (docs/contract/client.md, A process). */
export const START_TAG = "start-command";

/** What the steps of a create work on. */
export interface CreateContext {
  readonly deps: LifecycleDeps;
  readonly live: LiveSandbox;
  /** Its environment stands below the user's; its start command is run. */
  readonly template: Pick<TemplateSpec, "env" | "startCmd" | "readyCmd">;
  address?: AgentAddress;
}

/** The store learns of the sandbox before the driver does: whatever exists has a record. */
const record: Step<CreateContext> = {
  name: "record",
  run: ({ deps, live }) => deps.store.insertSandbox(live.record),
};

const create: Step<CreateContext> = {
  name: "create",
  async run({ deps, live }, _undo, signal) {
    await deps.driver.create(specOf(live.record), signal);
  },
};

const start: Step<CreateContext> = {
  name: "start",
  run: ({ deps, live }, _undo, signal) => deps.driver.start(live.handle, signal),
};

const init: Step<CreateContext> = {
  name: "init",
  async run(ctx, _undo, signal) {
    const { deps, live } = ctx;
    ctx.address = await deps.driver.address(live.handle);
    await deps.agent.init(ctx.address, live.record.facts.initKey, initBodyOf(ctx), signal);
  },
};

/** What the template wants to run in every sandbox; answered for when it is ready. It goes on when we let go of it. */
const startCommand: Step<CreateContext> = {
  name: "startCommand",
  async run({ deps, live, template, address }, _undo, signal) {
    const { startCmd, readyCmd } = template;
    if (address === undefined || (!startCmd && !readyCmd)) return;
    const { user, workdir } = live.record.facts;
    const agent = { address, accessToken: deps.tokens.access(live.record.id) };
    const shell = (command: string) => ({ cmd: "/bin/bash", args: ["-l", "-c", command], user, cwd: workdir });
    if (startCmd) (await startProcess(agent, { ...shell(startCmd), tag: START_TAG }, {}, signal)).letGo();
    if (!readyCmd || isOnlySleep(readyCmd)) return;
    await untilReady(async () => (await runProcess(agent, shell(readyCmd), {}, signal)).exitCode === 0, deps.clock, signal);
  },
};

/** The lifetime begins here, so that starting takes nothing of it. */
const run: Step<CreateContext> = {
  name: "run",
  async run({ deps, live }) {
    const startedAt = deps.clock.now();
    const change = { state: "running" as const, startedAt, endAt: startedAt + live.record.facts.timeoutMs };
    const done = await deps.store.updateSandbox(live.record.id, ["creating"], change);
    if (!done) throw new AppError("internal", "The store has no record of the sandbox that was created", { reason: "record_lost" });
    live.change(change);
  },
};

/** How a sandbox comes to be. Undoing any of them is one and the same deed, the removal of the sandbox. */
export const createSteps: readonly Step<CreateContext>[] = [record, create, start, init, startCommand, run];

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

function initBodyOf({ deps, live, template }: CreateContext): InitBody {
  const { id, templateId, facts } = live.record;
  return {
    accessToken: deps.tokens.access(id),
    // What says where a program runs is ours to say, whatever the user sets.
    envVars: { ...template.env, ...facts.envVars, E2B_SANDBOX: "true", E2B_SANDBOX_ID: id, E2B_TEMPLATE_ID: templateId },
    defaultUser: facts.user,
    defaultWorkdir: facts.workdir,
    timestamp: new Date(deps.clock.now()).toISOString(),
    sandboxID: id,
    templateID: templateId,
  };
}
