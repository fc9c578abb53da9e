import { atOnce, type Clock } from "@boxyard/core";
import type { SandboxDriver } from "@boxyard/driver";
import { resourcesOf, type SandboxRecord, type Store } from "../../store/index.ts";
import type { Admission } from "../create/admission.ts";
import { claimedUnder } from "../create/create-once.ts";
import type { Reserved } from "../create/maker.ts";
import type { Engine } from "../engine/engine.ts";
import type { Sandbox } from "../engine/sandbox.ts";
import type { TemplateSource } from "../ports.ts";
import { claim } from "../transitions/claim.ts";
import type { CreateTemplate } from "../transitions/create.ts";
import type { Liveness } from "../upkeep/liveness.ts";
import { Demand } from "./demand.ts";
import { fromOf, keyOf, kindOf } from "./kind.ts";
import { type Member, Members } from "./members.ts";
import { Refill } from "./refill.ts";

export interface WarmPoolParts {
  readonly engine: Engine;
  readonly admission: Pick<Admission, "create">;
  readonly templates: Pick<TemplateSource, "isTagged">;
  readonly driver: Pick<SandboxDriver, "capacity" | "capabilities">;
  readonly liveness: Pick<Liveness, "isUnresponsive">;
  readonly store: Pick<Store, "operations">;
  readonly clock: Clock;
}

/** What may wait: so many sandboxes, which use so many bytes of memory together. */
export interface WarmBudget {
  readonly sandboxes: number;
  readonly memoryBytes: number;
  /** Of each kind, while it is remembered: ten minutes from its last create. */
  readonly least: number;
}

/**
 * Sandboxes that run before anybody asks for them. They are sandboxes of the engine whose owner is the pool: adopted, watched and removed as any other,
 * and seen by no team. There are none before the first create of a kind; they are made while no create is worked on, give way to every
 * sandbox that needs their room, and outlive a server that is killed.
 */
export class WarmPool {
  private readonly parts: WarmPoolParts;
  private readonly isOn: boolean;
  private readonly demand: Demand;
  private readonly members: Members;
  private readonly refill: Refill;
  private givingWay: Promise<boolean> | undefined;
  /** Sandboxes that were handed out. */
  claims = 0;

  constructor(parts: WarmPoolParts, budget: WarmBudget) {
    this.parts = parts;
    this.isOn = budget.sandboxes > 0 && parts.driver.capabilities.relabel !== "none";
    this.demand = new Demand(budget.sandboxes, budget.least);
    this.members = new Members(parts, budget);
    const wanted = () => this.demand.wanted(parts.clock.monotonic());
    const forget = (kind: string) => this.demand.forget(kind);
    this.refill = new Refill({ ...parts, members: this.members, wanted, forget, takeIn: () => this.takeIn() });
  }

  /** Sandboxes that wait. */
  get size(): number {
    return this.members.size;
  }

  /** What another server has left waiting goes on waiting, or is removed by the time this resolves, where this one wants none. */
  async start(): Promise<void> {
    await this.takeIn().catch(() => {});
    if (!this.isOn) await this.drain();
    this.refill.start();
  }

  /** Takes in the sandboxes of the pool that this server has adopted, some of them late: as many are expected to be asked for. */
  private async takeIn(): Promise<void> {
    const { engine, store, clock, driver } = this.parts;
    const isNew = (sandbox: Sandbox) => isAdopted(sandbox) && !this.refill.hasMade(sandbox) && !this.members.has(sandbox);
    if (!engine.sandboxes.all().some(isNew)) return;
    // The undo of a create that a dead server has left removes the sandbox that it began with, if that is a user's by then.
    const unfinished = new Set<string>((await store.operations.listUnfinished()).map(({ id }) => id));
    for (const sandbox of engine.sandboxes.all()) {
      if (!isNew(sandbox) || unfinished.has(sandbox.id)) continue;
      const kind = keyOf(sandbox.record);
      const { memoryBytes } = resourcesOf(sandbox.record);
      this.members.add({ kind, sandbox, ...(driver.capabilities.setsMemoryAside && { memoryBytes }) });
      this.demand.note(kind, clock.monotonic());
      this.refill.found(kind, sandbox.record);
    }
  }

  /** Removes all, unless the server ends without any time for that (`graceMs` 0): the next server takes them in then. Repeatable. */
  async stop(graceMs: number): Promise<void> {
    await this.refill.stop();
    if (graceMs > 0) await this.drain();
  }

  /** To be held while a create is worked on: nothing is made for the pool meanwhile. */
  working(): Disposable {
    return this.refill.pause();
  }

  private kindOf(wanted: SandboxRecord, template: CreateTemplate) {
    return this.isOn ? kindOf(wanted, template, this.parts.driver.capabilities) : undefined;
  }

  /** A waiting sandbox that can become what is wanted, under an idempotency key or without one. It is the caller's until `giveBack`. */
  reserve(wanted: SandboxRecord, template: CreateTemplate, idempotencyKey?: string): Reserved | undefined {
    const kind = this.kindOf(wanted, template);
    const member = kind && this.members.take(kind.key);
    return member && this.reserved(member, idempotencyKey);
  }

  /** A create has succeeded; the next ones of its kind may find a sandbox that waits. */
  used(wanted: SandboxRecord, template: CreateTemplate): void {
    const kind = this.kindOf(wanted, template);
    if (!kind) return;
    const { clock } = this.parts;
    const now = clock.monotonic();
    this.demand.note(kind.key, now, now - Math.max(0, clock.now() - wanted.createdAt));
    this.refill.know(kind);
  }

  /** Removes all that wait, and what is being made, because a sandbox needs the room. Returns whether there was any. */
  giveWay(): Promise<boolean> {
    this.givingWay ??= this.makeRoom().finally(() => {
      this.givingWay = undefined;
    });
    return this.givingWay;
  }

  private async makeRoom(): Promise<boolean> {
    const wasMaking = await this.refill.giveWay();
    const left = await this.drain();
    return wasMaking || left > 0;
  }

  private async drain(): Promise<number> {
    const all = this.members.takeAll();
    await atOnce(all, 16, ({ sandbox }) => this.members.remove(sandbox));
    return all.length;
  }

  private reserved(member: Member, idempotencyKey: string | undefined): Reserved {
    const { engine } = this.parts;
    const { sandbox } = member;
    const from = fromOf(sandbox.record);
    let isKept = true;
    return {
      id: sandbox.id,
      hasRoom: this.parts.driver.capabilities.setsMemoryAside,
      claim: async (wanted, template, signal) => {
        isKept = false;
        let isReady = false;
        const onReady = () => {
          isReady = true;
        };
        // In this turn of the event loop: the limits count it from now on.
        sandbox.claim = claimedUnder(idempotencyKey, ofMember(wanted, sandbox));
        try {
          const record = await engine.run(sandbox, claim, { wanted: sandbox.claim, template, from, onReady }, { signal });
          this.claims += 1;
          return record;
        } catch (error) {
          if (isReady || signal.aborted) throw error;
          return undefined;
        } finally {
          sandbox.claim = undefined;
          this.members.gone(member);
        }
      },
      giveBack: () => {
        if (isKept) this.members.giveBack(member);
        isKept = false;
      },
    };
  }
}

const isAdopted = ({ record, incarnation, pending }: Sandbox): boolean =>
  record.owner.kind === "pool" && record.state === "running" && pending === undefined && incarnation?.isReachable === true;

/** The wanted record for the sandbox of the pool that becomes it. */
function ofMember(wanted: SandboxRecord, { id, record }: Sandbox): SandboxRecord {
  const { incarnation, facts } = record;
  return { ...wanted, id, incarnation, state: "running", facts: { ...wanted.facts, initKey: facts.initKey } };
}
