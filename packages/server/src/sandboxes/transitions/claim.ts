import { isAppError, type SandboxId, type Step, TimeLimit } from "@boxyard/core";
import type { SnapshotRef } from "@boxyard/driver";
import type { SandboxRecord } from "../../store/index.ts";
import { addressOf } from "../engine/sandbox.ts";
import { recordOf, type Transition } from "../engine/transition.ts";
import { type CommandContext, CREATE_MS, type CreateTemplate, driverSpecOf, initBodyOf, startCommand, userInitOf } from "./create.ts";

/** How long the sandbox's agent may take for its settings; one that takes longer is not handed out. */
const INIT_MS = 2000;
/** Between attempts to write labels that are far away. */
const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 30_000;

export interface ClaimInput {
  /** The record that the sandbox gets, with its own id and init key. */
  readonly wanted: SandboxRecord;
  readonly template: CreateTemplate;
  /** What the sandbox was started from. */
  readonly from: SnapshotRef | undefined;
  /** Called when only the template's commands are left: what fails from then on would fail in any other sandbox too. */
  onReady?(): void;
}

interface ClaimContext extends CommandContext {
  readonly input: ClaimInput;
  /** CPU time that it has used in the pool, in microseconds. */
  cpuUsec: number;
}

/** Labels that are kept far away follow the claim (`follow`). */
const areFar = ({ parts }: ClaimContext): boolean => parts.driver.capabilities.relabel === "remote";

/**
 * First: from now on the driver's record says whose it is, so a server that has lost its store keeps it, and no server takes it for a waiting one. Where the
 * labels are far away, they come later (`follow`), and the store says that it does not wait any more (`intent`).
 */
const relabel: Step<ClaimContext> = {
  name: "relabel",
  async run(context) {
    const { parts, sandbox, input } = context;
    if (areFar(context)) return;
    const [times] = await Promise.all([
      parts.driver.cpuTimes([sandbox.handle]),
      parts.driver.relabel(sandbox.handle, driverSpecOf(input.wanted).labels),
    ]);
    context.cpuUsec = times.get(sandbox.id) ?? 0;
  },
};

/** The rules hold before the agent has anything that could leave the sandbox. */
const network: Step<ClaimContext> = {
  name: "network",
  async run({ parts, sandbox, input }) {
    const { egress } = input.wanted.settings;
    if (!Bun.deepEquals(egress, sandbox.record.settings.egress))
      await parts.driver.setNetwork(sandbox.handle, await parts.policies.of(input.wanted));
  },
};

/**
 * Also the proof that the sandbox is well. Most claims write nothing before their end, so an owner among several servers that slept until here learns only from
 * its permit that another one may have handed the sandbox out: then nothing of this user may get into it.
 */
const init: Step<ClaimContext> = {
  name: "init",
  async run({ parts, sandbox, input, template }, _undo, signal) {
    parts.permit?.check();
    const body = sandbox.isRehearsed ? userInitOf(parts, input.wanted, template.env) : initBodyOf(parts, input.wanted, template.env);
    using limit = new TimeLimit(INIT_MS, parts.clock);
    const inTime = AbortSignal.any([signal, limit.signal]);
    await parts.agent.init(addressOf(sandbox), input.wanted.facts.initKey, body, inTime, sandbox.handle);
    input.onReady?.();
  },
};

/**
 * What a claim does not wait for where the driver's records are far away: the CPU time that the sandbox has used in the pool, and its labels, asked for again
 * until they are written or the sandbox has ended. If this server ends before, the one that adopts the sandbox writes them. Never throws.
 */
async function follow({ parts, sandbox, input }: ClaimContext): Promise<void> {
  const { driver, clock, metering } = parts;
  const { id, handle, incarnation } = sandbox;
  const times = driver.cpuTimes([handle]).catch(() => new Map<SandboxId, number>());
  void times.then((known) => metering?.created(sandbox.record, { cpuUsec: known.get(id) ?? 0 }));
  for (let waitMs = FIRST_WAIT_MS; incarnation?.signal.aborted === false; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
    try {
      await driver.relabel(handle, driverSpecOf(input.wanted).labels);
      return;
    } catch (error) {
      if (isAppError(error, "not_found")) return;
      await clock.sleep(waitMs, incarnation.signal).catch(() => {});
    }
  }
}

/**
 * Gives a sandbox of the pool to a user. The store learns of it in one write, at the end, with another before where the labels are far away: until then a
 * server that dies leaves a sandbox of the pool, which the next server removes. One whose claim has failed is removed, and never waits again.
 */
export const claim: Transition<ClaimInput, ClaimContext> = {
  name: "claim",
  from: ["running"],
  via: "running",
  to: "running",
  onFailure: "remove",
  limitMs: CREATE_MS,
  prepare: (base, input) => ({ ...base, input, template: input.template, from: input.from, cpuUsec: 0 }),
  intent: (context) => (areFar(context) ? { settings: { ...context.sandbox.record.settings, isHandedOut: true } } : {}),
  steps: [relabel, network, init, startCommand],
  /** The lifetime begins here, as that of any other sandbox. */
  taken({ parts, input: { wanted, from } }) {
    const { owner, teamId, facts, settings } = wanted;
    const startedAt = parts.clock.now();
    const lifetime = { createdAt: wanted.createdAt, startedAt, endAt: startedAt + facts.timeoutMs };
    return { owner, teamId, facts, settings, ...lifetime, ...(from && { checkpointId: from.snapshot }) };
  },
  output: recordOf,
  done(context, took) {
    const { parts, sandbox, cpuUsec } = context;
    if (areFar(context)) void follow(context);
    else parts.metering?.created(sandbox.record, { cpuUsec });
    parts.events.created(sandbox.record, { template: sandbox.record.facts.alias, warm: true, ...took });
  },
  failed: ({ parts, sandbox }, error) => parts.events.notClaimed(sandbox.id, error),
};
