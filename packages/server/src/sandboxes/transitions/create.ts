import { type InitBody, runProcess, startProcess } from "@boxyard/agent-client";
import { AppError, type Step, TimeLimit, VERSION } from "@boxyard/core";
import type { SandboxSpec, SnapshotRef } from "@boxyard/driver";
import { OF_POOL } from "../../pool-label.ts";
import { readyOfSandbox, untilReady } from "../../ready/ready.ts";
import {
  resourcesOf,
  type SandboxFacts,
  type SandboxRecord,
  type SandboxSettings,
  type StartCommands,
  type TemplateSpec,
} from "../../store/index.ts";
import { toDriver } from "../../volumes/mounts.ts";
import type { EngineParts } from "../engine/parts.ts";
import { addressOf } from "../engine/sandbox.ts";
import { recordOf, type Transition, type TransitionContext } from "../engine/transition.ts";

/** Longest time of a create, from its first step to its last. */
export const CREATE_MS = 45_000;

/** Clients find the start command among a sandbox's processes by this tag (docs/contract/client.md, A process). */
const START_TAG = "start-command";

/** What a create takes of a template: `env`, which the user's variables override, and the start command. */
export interface CreateTemplate extends StartCommands, Pick<TemplateSpec, "env"> {
  /** The snapshot that the sandbox begins with. With memory, the start command runs already. */
  readonly from?: SnapshotRef;
  /** Set where a boot gives the same sandbox as `from`: called when the start from `from` has failed, before a boot is tried. */
  readonly bootsInstead?: (() => void) | undefined;
}

/** What the start command needs to know. */
export interface CommandContext extends TransitionContext {
  readonly template: CreateTemplate;
  /** The snapshot that is used: `template.from`, or undefined once a boot is tried instead. */
  from: SnapshotRef | undefined;
}

export interface CreateContext extends CommandContext {
  /** True between the driver's create and its start. */
  isCreated: boolean;
  /** No client waits for the sandbox. */
  readonly isUnawaited?: boolean;
}

export const createStep: Step<CreateContext> = {
  name: "create",
  run: (context, _undo, signal) => orBoot(context, signal, () => createFrom(context, signal)),
};

export const startStep: Step<CreateContext> = {
  name: "start",
  run: (context, _undo, signal) =>
    orBoot(context, signal, async () => {
      const { parts, sandbox, isCreated, isUnawaited = false } = context;
      if (!isCreated) await createFrom(context, signal);
      context.isCreated = false;
      // A start that fails has removed the sandbox, so the second try creates it again.
      await parts.driver.start(sandbox.handle, signal, { isUnawaited });
    }),
};

async function createFrom(context: CreateContext, signal: AbortSignal): Promise<void> {
  const { parts, sandbox, from } = context;
  const network = await parts.policies.of(sandbox.record);
  await parts.driver.create({ ...driverSpecOf(sandbox.record), network, ...(from && { from }) }, signal);
  context.isCreated = true;
}

/** Runs `work`. When it fails, and a boot gives the same sandbox, runs `work` again without the snapshot: a broken image must not stop a create. */
async function orBoot(context: CreateContext, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const { parts, sandbox, template } = context;
    if (!context.from || !template.bootsInstead || signal.aborted || isOfLoad(error)) throw error;
    parts.events.bootsInstead(sandbox.record, context.from.snapshot, error);
    template.bootsInstead();
    context.from = undefined;
    await work();
  }
}

/** True for errors that a boot without the image would meet too. */
const isOfLoad = (error: unknown): boolean =>
  error instanceof AppError && ["resource_exhausted", "unavailable", "deadline_exceeded", "aborted", "canceled"].includes(error.code);

const init: Step<CreateContext> = {
  name: "init",
  async run(context, _undo, signal) {
    const { parts, sandbox } = context;
    const address = await parts.driver.address(sandbox.handle);
    const body = initBodyOf(parts, sandbox.record, context.template.env);
    await parts.agent.init(address, sandbox.record.facts.initKey, body, signal, sandbox.handle);
    if (sandbox.incarnation) sandbox.incarnation.address = address;
  },
};

/** Starts the template's start command and waits until it is ready; then the create is answered. The command goes on when the server closes the stream. */
export const startCommand: Step<CommandContext> = {
  name: "startCommand",
  async run({ parts, sandbox, template, from }, _undo, signal) {
    const { startCmd, readyCmd, runAs, ports = [] } = template;
    if ((!startCmd && !readyCmd) || from?.memory) return;
    const { user, workdir } = runAs ?? sandbox.record.facts;
    const agent = { address: addressOf(sandbox), accessToken: parts.tokens.access(sandbox.id) };
    const shell = (command: string) => ({ cmd: "/bin/bash", args: ["-l", "-c", command], user, cwd: workdir });
    if (startCmd) (await startProcess(agent, { ...shell(startCmd), tag: START_TAG }, {}, signal)).detach();
    const wait = readyOfSandbox({ startCmd, readyCmd }, ports);
    if (!wait) return;
    const { ready, limitMs } = wait;
    if (ready.kind === "time") return parts.clock.sleep(ready.ms, signal);
    if (ready.kind !== "command") return;
    const until = async (stop: AbortSignal) =>
      untilReady(async () => (await runProcess(agent, shell(ready.command), {}, stop)).exitCode === 0, parts.clock, stop);
    if (limitMs === undefined) return until(signal);
    // At most as long as the template says; when that is over, the create goes on as if the command were ready.
    using limit = new TimeLimit(limitMs, parts.clock);
    await until(AbortSignal.any([signal, limit.signal])).catch((error: unknown) => {
      signal.throwIfAborted();
      if (!limit.isOver) throw error;
    });
  },
};

/** Makes a sandbox. No step has an undo of its own: the transition `kill` removes what a failed create has made. */
export const createTransition: Transition<CreateTemplate, CreateContext> = {
  name: "create",
  from: [],
  via: "creating",
  to: "running",
  onFailure: "remove",
  limitMs: CREATE_MS,
  prepare: (base, template) => ({ ...base, template, from: template.from, isCreated: false }),
  steps: [createStep, startStep, init, startCommand],
  output: recordOf,
  /** The lifetime begins here, so the time that the start took does not count. */
  result({ parts, sandbox, from }) {
    const startedAt = parts.clock.now();
    return { startedAt, endAt: startedAt + sandbox.record.facts.timeoutMs, ...(from && { checkpointId: from.snapshot }) };
  },
  done({ parts, sandbox }, took) {
    parts.metering?.created(sandbox.record);
    parts.events.created(sandbox.record, { template: sandbox.record.facts.alias, ...took });
  },
  failed: ({ parts, sandbox }, error) => parts.events.createFailed(sandbox.id, error),
};

/** The driver's spec of a sandbox, without what its network does to requests (`DriverPolicies`). Its labels hold what `upkeep/adopt-orphan.ts` needs for the record after a loss of the store. */
export function driverSpecOf(record: SandboxRecord): SandboxSpec {
  const { id, owner, incarnation, teamId, templateId, createdAt, facts, settings } = record;
  const build = owner.kind === "build" ? { build: owner.id } : owner.kind === "pool" ? { [OF_POOL]: VERSION } : {};
  return {
    sandboxId: id,
    incarnation,
    image: facts.image,
    hostname: owner.kind === "build" ? "build" : id,
    resources: resourcesOf(record),
    network: settings.egress,
    ...(facts.restrictions && { restrictions: facts.restrictions }),
    ...(facts.volumes && { volumes: facts.volumes.map(toDriver) }),
    agent: { initKey: facts.initKey },
    labels: {
      team: teamId,
      template: templateId,
      alias: facts.alias,
      createdAt: String(createdAt),
      ...build,
      ...remembered(facts, settings),
    },
  };
}

/** Bytes of a label's value. Longer values are left out, because labels have a limit. */
const MAX_REMEMBERED = 512;

function remembered({ user, workdir, timeoutMs }: SandboxFacts, { allowPublicTraffic }: SandboxSettings): Record<string, string> {
  const labels = { user, workdir, timeoutMs: String(timeoutMs), publicTraffic: allowPublicTraffic ? "yes" : "no" };
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => Buffer.byteLength(value) <= MAX_REMEMBERED));
}

/** The body of the agent's `/init`. The user's variables override `templateEnv`. */
export function initBodyOf(
  { tokens, clock, authorities }: Pick<EngineParts, "tokens" | "clock" | "authorities">,
  record: SandboxRecord,
  templateEnv: TemplateSpec["env"],
): InitBody {
  const { id, templateId, facts, owner } = record;
  const body = userInitOf({ tokens, clock, authorities }, record, templateEnv);
  // No platform variables for a build's steps: their values would be wrong in the sandboxes that start from the result.
  if (owner.kind === "build" && facts.templateEnv === undefined) return { ...body, envVars: {} };
  // Without authorities the agent need not read the image's list.
  return { ...body, sandboxID: id, templateID: templateId, ...(authorities.pem === "" ? {} : { caBundle: authorities.pem }) };
}

/**
 * The part of that which can differ between the users of a sandbox, for an agent that has been told the rest. The platform's variables override the user's,
 * which override the template's.
 */
export function userInitOf(
  { tokens, clock, authorities }: Pick<EngineParts, "tokens" | "clock" | "authorities">,
  { id, templateId, facts }: SandboxRecord,
  templateEnv: TemplateSpec["env"],
): InitBody {
  const platform = { E2B_SANDBOX: "true", E2B_SANDBOX_ID: id, E2B_TEMPLATE_ID: templateId };
  return {
    accessToken: tokens.access(id),
    defaultUser: facts.user,
    defaultWorkdir: facts.workdir,
    timestamp: new Date(clock.now()).toISOString(),
    envVars: { ...authorities.env, ...templateEnv, ...facts.envVars, ...platform },
  };
}
