import type { AgentClient } from "@boxyard/agent-client";
import { atOnce, type Clock, Rounds, Semaphore } from "@boxyard/core";
import type { ServerConfig } from "../../config.ts";
import type { EventLog } from "../../event-log.ts";
import type { RouteTable } from "../../proxy/route-table.ts";
import type { Engine } from "../engine/engine.ts";
import type { Incarnation, Sandbox } from "../engine/sandbox.ts";
import { bootUnresponsive } from "./reboot-unresponsive.ts";

/** Questions in a row without an answer after which an agent is unresponsive. */
export const MISSES = 3;
/** Milliseconds for an answer: enough for an agent on a busy machine. */
const ANSWER_MS = 5000;
const AT_ONCE = 16;
/** How long the server's end waits for removals and boots that have begun. The next server finishes those that take longer. */
const STOP_MS = 5000;
/** A round never fails: an agent that cannot be asked has missed an answer. */
const NEVER = () => {};

/**
 * What happens to a sandbox whose agent does not answer any more. `none`: the API shows the sandbox as unresponsive. `kill`: the sandbox is removed.
 * `restart`: the sandbox boots anew from its disk; a build's sandbox is only shown, because its step would not survive a boot.
 */
export type UnresponsivePolicy = "none" | "kill" | "restart";

export interface LivenessParts {
  readonly engine: Pick<Engine, "sandboxes" | "end" | "inTurn">;
  readonly routes: RouteTable;
  readonly agent: Pick<AgentClient, "isHealthy">;
  readonly events: Pick<EventLog, "unresponsive" | "responsive">;
  readonly clock: Clock;
}

export interface LivenessSettings {
  /** Milliseconds between two rounds; 0: no agent is ever asked. */
  readonly everyMs: number;
  /** How long an agent may take for its answer. */
  readonly answerMs: number;
  readonly policy: UnresponsivePolicy;
}

/** The settings of a configuration. `agentLimitMs`: a shorter time for answers, for tests. */
export function livenessSettings(config: ServerConfig, agentLimitMs = ANSWER_MS): LivenessSettings {
  return { everyMs: config.probeSeconds * 1000, answerMs: Math.min(ANSWER_MS, agentLimitMs), policy: config.onUnresponsive };
}

interface Observation {
  /** How many answers of the agent the proxy had passed on by the last round. */
  readonly answers: number;
  readonly misses: number;
}

/**
 * Finds agents that hang: nothing else notices a process that is stopped or stuck. An agent is not asked when the proxy has passed on an answer of
 * it since the last round.
 */
export class Liveness {
  private readonly parts: LivenessParts;
  private readonly settings: LivenessSettings;
  private readonly observations = new WeakMap<Incarnation, Observation>();
  private readonly rounds: Rounds;
  private readonly places = new Semaphore(AT_ONCE);
  /** Removals and boots in progress. */
  private readonly acts = new Map<Incarnation, Promise<void>>();

  constructor(parts: LivenessParts, settings: LivenessSettings) {
    this.parts = parts;
    this.settings = settings;
    this.rounds = new Rounds(() => this.once(), { clock: parts.clock, everyMs: settings.everyMs, onError: NEVER });
  }

  start(): void {
    if (this.settings.everyMs > 0) this.rounds.start();
  }

  /** Begins no more rounds, removals and boots, and waits up to five seconds for those in progress. Repeatable. */
  async stop(): Promise<void> {
    await this.rounds.stop();
    const done = new AbortController();
    const late = this.parts.clock.sleep(STOP_MS, done.signal).catch(NEVER);
    await Promise.race([Promise.all(this.acts.values()), late]);
    done.abort();
  }

  /** True when the agent of the sandbox did not answer the last questions. */
  isUnresponsive(sandbox: Sandbox | undefined): boolean {
    const { incarnation } = sandbox ?? {};
    return incarnation !== undefined && (this.observations.get(incarnation)?.misses ?? 0) >= MISSES;
  }

  /** One round over all running sandboxes. */
  async once(): Promise<void> {
    const queue = [...this.parts.engine.sandboxes.all()].filter(
      ({ state, incarnation }) => state === "running" && incarnation?.isReachable,
    );
    await atOnce(queue, AT_ONCE, (sandbox) => this.look(sandbox));
  }

  private async look(sandbox: Sandbox): Promise<void> {
    const { incarnation } = sandbox;
    if (!incarnation?.address) return;
    const before = this.observations.get(incarnation) ?? { answers: 0, misses: 0 };
    const answers = this.parts.routes.find(sandbox.id)?.agentAnswers ?? 0;
    const signal = AbortSignal.any([incarnation.signal, this.rounds.signal]);
    const lives = answers > before.answers || (await this.parts.agent.isHealthy(incarnation.address, this.settings.answerMs, signal));
    // A sandbox that was paused or removed meanwhile could not answer.
    if (signal.aborted || sandbox.state !== "running" || sandbox.incarnation !== incarnation) return;
    const misses = lives ? 0 : before.misses + 1;
    this.observations.set(incarnation, { answers, misses });
    if (lives && before.misses >= MISSES) this.parts.events.responsive(sandbox.id);
    if (misses === MISSES) this.parts.events.unresponsive(sandbox.id, this.settings.policy);
    if (misses > 0 && misses % MISSES === 0) this.begin(sandbox, incarnation, misses === MISSES);
  }

  /** Begins the act of the policy, and does not wait: the act waits for the sandbox's turn, and a boot may take minutes, while rounds go on. */
  private begin(sandbox: Sandbox, incarnation: Incarnation, isFirst: boolean): void {
    if (this.acts.has(incarnation)) return;
    const signal = AbortSignal.any([incarnation.signal, this.rounds.signal]);
    const act = this.places
      .run(signal, () => this.act(sandbox, incarnation, isFirst))
      .catch(NEVER)
      .finally(() => this.acts.delete(incarnation));
    this.acts.set(incarnation, act);
  }

  private async act(sandbox: Sandbox, incarnation: Incarnation, isFirst: boolean): Promise<void> {
    const { policy } = this.settings;
    // The sweep tries a failed removal again. A failed restart is tried again after as many further misses.
    if (policy === "kill" && isFirst) await this.parts.engine.end(sandbox, "unresponsive", incarnation).catch(() => {});
    if (policy === "restart" && sandbox.record.owner.kind === "user") {
      await bootUnresponsive(this.parts, sandbox, incarnation, { answerMs: this.settings.answerMs, signal: this.rounds.signal });
    }
  }
}
