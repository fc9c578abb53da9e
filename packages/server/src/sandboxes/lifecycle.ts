import type { AgentClient } from "@boxyard/agent-client";
import {
  AppError,
  Cleanup,
  type Clock,
  isAppError,
  runSteps,
  type SandboxId,
  SerialQueues,
  type StepObserver,
  type TeamId,
  type TemplateId,
} from "@boxyard/core";
import type { AgentAddress, SandboxDriver } from "@boxyard/driver";
import type { Events } from "../events.ts";
import type { RouteTable } from "../proxy/route-table.ts";
import type { EndCause, SandboxRecord, Store } from "../store/index.ts";
import { createSteps } from "./create-steps.ts";
import { Evictor } from "./evictor.ts";
import { LiveSandbox } from "./live.ts";
import { CREATE_MS, type CreateSandbox, newRecord } from "./new-record.ts";
import { createFailure, sandboxNotFound } from "./problems.ts";
import type { Tokens } from "./tokens.ts";
import { withLimit } from "./with-limit.ts";

export interface LifecycleDeps {
  readonly store: Store;
  readonly driver: SandboxDriver;
  readonly clock: Clock;
  readonly routes: RouteTable;
  readonly agent: AgentClient;
  readonly tokens: Tokens;
  readonly events: Events;
  readonly maxSandboxes: number;
  /** Tests put faults between the steps of a create or a removal. */
  readonly observer?: StepObserver;
}

/** What the end of a sandbox is made of, for observers: the record says so, the driver removes it, the record is closed. */
export const END_STEPS = ["end", "destroy", "bury"] as const;
const DESTROY_MS = 60_000;
const RETRY_MS = 5000;

/**
 * Sandboxes from creation to end. Work on one sandbox runs in order, one at a time; its state moves only as core's table allows. Memory and
 * store hold the same facts: the store is written first when a sandbox comes, and first when it goes.
 */
export class Lifecycle {
  readonly deps: LifecycleDeps;
  /** Sandboxes of the driver's that are not ours to look after while they are named here: those of builds. */
  readonly reserved = new Set<string>();
  private readonly living = new Map<SandboxId, LiveSandbox>();
  private readonly queues = new SerialQueues<SandboxId>();
  private readonly evictor: Evictor;
  private closed = false;

  constructor(deps: LifecycleDeps) {
    this.deps = deps;
    this.evictor = new Evictor(deps.clock, (id) => void this.onDue(id as SandboxId));
  }

  start(): void {
    this.evictor.start();
  }

  /** Lets go of everything; sandboxes go on without this server. */
  async close(): Promise<void> {
    this.closed = true;
    await this.evictor.stop();
    for (const live of this.living.values()) live.incarnation.abort();
  }

  /** Running sandboxes of a team. */
  running(teamId: TeamId): SandboxRecord[] {
    const found: SandboxRecord[] = [];
    for (const { record } of this.living.values()) if (record.state === "running" && record.teamId === teamId) found.push(record);
    return found;
  }

  /** A running sandbox. Throws `not_found`. */
  get(teamId: TeamId, id: SandboxId): SandboxRecord {
    return this.findRunning(teamId, id).record;
  }

  /** Everything that is not dead, whoever owns it. */
  all(): IterableIterator<LiveSandbox> {
    return this.living.values();
  }

  /** Sandboxes that were made from a template and have not ended. */
  usersOf(templateId: TemplateId): SandboxId[] {
    const users: SandboxId[] = [];
    for (const live of this.living.values()) if (live.record.templateId === templateId && !isOver(live)) users.push(live.record.id);
    return users;
  }

  find(id: SandboxId): LiveSandbox | undefined {
    return this.living.get(id);
  }

  /** Makes a sandbox and returns when it runs; when it throws, nothing is left of it, or a sweep will see to that. */
  async create(id: SandboxId, wanted: CreateSandbox, signal: AbortSignal): Promise<SandboxRecord> {
    const { deps } = this;
    if (this.closed) throw new AppError("unavailable", "The server is shutting down", { reason: "shutting_down" });
    if (this.living.size >= deps.maxSandboxes) {
      throw new AppError("resource_exhausted", `The maximum number of sandboxes (${deps.maxSandboxes}) exists already`, {
        reason: "too_many_sandboxes",
        details: { retryAfter: 5 },
      });
    }
    const live = new LiveSandbox(newRecord(id, wanted, deps.clock.now()), deps.driver.name);
    this.living.set(id, live);
    return this.queues.run(id, () => this.runCreate(live, wanted, signal));
  }

  /** Moves the end to now + `timeoutMs`, or with `extendOnly` only if that is later. Throws `not_found`. */
  async setTimeout(teamId: TeamId, id: SandboxId, timeoutMs: number, extendOnly = false): Promise<SandboxRecord> {
    return this.whileRunning(teamId, id, async (live) => {
      const wanted = this.deps.clock.now() + Math.max(0, timeoutMs);
      if (extendOnly && wanted <= live.record.endAt) return live.record;
      const done = await this.deps.store.updateSandbox(id, ["running"], { endAt: wanted });
      if (!done) throw sandboxNotFound(id);
      live.change({ endAt: wanted });
      this.evictor.set(id, wanted);
      return live.record;
    });
  }

  /** Works on a running sandbox in its turn: nothing else happens to it meanwhile. Throws `not_found`. */
  async whileRunning<T>(teamId: TeamId, id: SandboxId, work: (live: LiveSandbox) => Promise<T>): Promise<T> {
    this.findRunning(teamId, id);
    return this.queues.run(id, () => work(this.findRunning(teamId, id)));
  }

  /** Ends a sandbox of a team and removes all of it. Throws `not_found` if there is none, or it is ending already. */
  async kill(teamId: TeamId, id: SandboxId): Promise<void> {
    const live = this.living.get(id);
    if (!live || live.record.teamId !== teamId || isOver(live)) throw sandboxNotFound(id);
    await this.end(live, "requested");
  }

  /** Ends a sandbox, whatever it is doing. Repeatable. Throws when the driver could not remove it; a sweep tries again then. */
  async end(live: LiveSandbox, cause: EndCause): Promise<void> {
    const { id } = live.record;
    // A create in progress gives up, and removes what it has made; then it is our turn in the queue.
    live.creation.abort(new AppError("aborted", "The sandbox was ended while it was being created", { reason: "ended_during_create" }));
    await this.queues.run(id, async () => {
      if (this.living.get(id) !== live || isOver(live)) return;
      // Its time may have been moved while this waited for its turn.
      if (cause === "timeout" && live.record.endAt > this.deps.clock.now()) return this.evictor.set(id, live.record.endAt);
      await this.remove(live, cause);
    });
  }

  /** Tries the removal of what an earlier try has left. */
  async retryRemoval(live: LiveSandbox): Promise<void> {
    if (live.state !== "killing" || live.retryAt > this.deps.clock.monotonic()) return;
    await this.queues.run(live.record.id, async () => {
      if (this.living.get(live.record.id) === live) await this.bury(live);
    });
  }

  /** Does something with a running sandbox when it is its turn; nothing, and undefined, if it does not run any more then. */
  async inTurn<T>(live: LiveSandbox, work: () => Promise<T>): Promise<T | undefined> {
    const { id } = live.record;
    return this.queues.run(id, async () => (this.living.get(id) === live && live.state === "running" ? work() : undefined));
  }

  /** Takes back a sandbox that an earlier server made: running, or to be removed. One that is known keeps what waits for its turn. */
  adopt(record: SandboxRecord, address: AgentAddress | undefined): LiveSandbox {
    const live = this.living.get(record.id) ?? new LiveSandbox(record, this.deps.driver.name);
    this.living.set(record.id, live);
    if (address) this.publish(live, address);
    return live;
  }

  private async runCreate(live: LiveSandbox, wanted: CreateSandbox, caller: AbortSignal): Promise<SandboxRecord> {
    const { deps } = this;
    const { id } = live.record;
    const startedAt = deps.clock.monotonic();
    const steps: Record<string, number> = {};
    const trace = deps.events.stepTrace;
    const signal = AbortSignal.any([caller, live.creation.signal, AbortSignal.timeout(CREATE_MS)]);
    const undo = new Cleanup((_name, error) => deps.events.removalFailed(id, error));
    undo.add("remove", () => this.remove(live, "create_failed"));
    const context = { deps, live, template: wanted.template.spec, address: undefined as AgentAddress | undefined };
    try {
      await runSteps(createSteps, context as Parameters<(typeof createSteps)[number]["run"]>[0], undo, signal, {
        ...trace,
        ...deps.observer,
        onStep: (event) => {
          steps[event.name] = Math.round(event.durationMs * 100) / 100;
          trace.onStep?.(event);
        },
      });
    } catch (error) {
      deps.events.createFailed(id, error);
      throw createFailure(error, { caller, ended: live.creation.signal, isRemoved: live.state === "dead" });
    }
    undo.disarm();
    this.publish(live, context.address as AgentAddress);
    deps.events.created(id, {
      template: live.record.facts.alias,
      totalMs: Math.round((deps.clock.monotonic() - startedAt) * 100) / 100,
      steps,
    });
    return live.record;
  }

  /** From here on requests reach the sandbox, its end is noticed, and its time runs. */
  private publish(live: LiveSandbox, address: AgentAddress): void {
    const { deps } = this;
    const { id, incarnation, endAt, facts } = live.record;
    deps.routes.add({
      sandboxId: id,
      incarnation,
      host: address.host,
      agentPort: address.agentPort,
      accessToken: deps.tokens.access(id),
      ...(facts.allowPublicTraffic ? {} : { trafficToken: deps.tokens.traffic(id) }),
      ...(facts.maskRequestHost === undefined ? {} : { maskHost: facts.maskRequestHost }),
      ...(deps.driver.capabilities.loopback && {
        inside: (port: number, signal: AbortSignal) => deps.driver.connectInside(live.handle, port, signal),
      }),
    });
    this.evictor.set(id, endAt);
    void this.watch(live);
  }

  private async watch(live: LiveSandbox): Promise<void> {
    const { driver, clock, events } = this.deps;
    const { signal } = live.incarnation;
    while (!signal.aborted) {
      try {
        const exit = await driver.wait(live.handle, signal);
        if (!signal.aborted) await this.end(live, exit.reason);
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (isAppError(error, "not_found")) {
          await this.end(live, "lost").catch(() => {});
          return;
        }
        events.watchFailed(live.record.id, error);
        await clock.sleep(1000, signal).catch(() => {});
      }
    }
  }

  private async onDue(id: SandboxId): Promise<void> {
    const live = this.living.get(id);
    if (!live || this.closed) return;
    const now = this.deps.clock.now();
    // Its time may have been moved while this was on its way.
    if (live.record.endAt > now) return this.evictor.set(id, live.record.endAt);
    await this.end(live, "timeout").catch(() => {});
  }

  private async remove(live: LiveSandbox, cause: EndCause): Promise<void> {
    const { store, routes, clock, events, observer } = this.deps;
    const { id } = live.record;
    this.evictor.delete(id);
    routes.remove(id);
    live.incarnation.abort();
    const from = live.state;
    const change = { state: "killing" as const, reason: cause, endedAt: clock.now() };
    await observer?.before?.(END_STEPS[0]);
    live.change(change);
    // If the store fails here, a restart finds the record as it was and the sandbox gone; it is buried then.
    await store.updateSandbox(id, [from], change).catch((error: unknown) => events.storeFailed(id, error));
    events.ended(id, cause);
    await this.bury(live);
  }

  /** The last part of a removal, which can be repeated. */
  private async bury(live: LiveSandbox): Promise<void> {
    const { store, driver, clock, events, observer } = this.deps;
    const { id } = live.record;
    try {
      await observer?.before?.(END_STEPS[1]);
      await withLimit(driver.destroy(live.handle), DESTROY_MS);
      await observer?.before?.(END_STEPS[2]);
      await store.updateSandbox(id, ["creating", "running", "killing"], { state: "dead", ...reasonOf(live) });
      live.change({ state: "dead" });
      this.living.delete(id);
      events.removed(id);
    } catch (error) {
      live.retryAt = clock.monotonic() + RETRY_MS;
      events.removalFailed(id, error);
      throw error;
    }
  }

  private findRunning(teamId: TeamId, id: SandboxId): LiveSandbox {
    const live = this.living.get(id);
    if (!live || live.record.teamId !== teamId || live.state !== "running") throw sandboxNotFound(id);
    return live;
  }
}

const isOver = (live: LiveSandbox) => live.state === "killing" || live.state === "dead";

function reasonOf({ record }: LiveSandbox): { reason?: EndCause; endedAt?: number } {
  return { ...(record.reason ? { reason: record.reason } : {}), ...(record.endedAt === undefined ? {} : { endedAt: record.endedAt }) };
}
