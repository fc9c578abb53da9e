import { atOnce, type Clock } from "@boxyard/core";
import type { SandboxDriver } from "@boxyard/driver";
import type { SandboxRecord } from "../../store/index.ts";
import type { Admission } from "../create/admission.ts";
import type { Reserved } from "../create/maker.ts";
import type { Engine } from "../engine/engine.ts";
import type { Sandbox } from "../engine/sandbox.ts";
import type { TemplateSource } from "../ports.ts";
import { claim } from "../transitions/claim.ts";
import type { CreateTemplate } from "../transitions/create.ts";
import type { Liveness } from "../upkeep/liveness.ts";
import { Demand } from "./demand.ts";
import { kindOf } from "./kind.ts";
import { type Member, Members } from "./members.ts";
import { Refill } from "./refill.ts";

export interface WarmPoolParts {
  readonly engine: Engine;
  readonly admission: Pick<Admission, "create">;
  readonly templates: Pick<TemplateSource, "isTagged">;
  readonly driver: Pick<SandboxDriver, "capacity" | "capabilities">;
  readonly liveness: Pick<Liveness, "isUnresponsive">;
  readonly clock: Clock;
}

/** What may wait: so many sandboxes, which use so many bytes of memory together. */
export interface WarmBudget {
  readonly sandboxes: number;
  readonly memoryBytes: number;
}

/**
 * Sandboxes that run before anybody asks for them. They are sandboxes of the engine whose owner is the pool: adopted, watched and removed as any other,
 * and seen by no team. There are none before the first create of a kind; they are made while no create is worked on, and give way to every
 * sandbox that needs their room.
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
    this.isOn = budget.sandboxes > 0 && parts.driver.capabilities.relabel;
    this.demand = new Demand(budget.sandboxes);
    this.members = new Members(parts, budget);
    const wanted = () => this.demand.wanted(parts.clock.monotonic());
    this.refill = new Refill({ ...parts, members: this.members, wanted, forget: (kind) => this.demand.forget(kind) });
  }

  /** Sandboxes that wait. */
  get size(): number {
    return this.members.size;
  }

  start(): void {
    if (this.isOn) this.refill.start();
  }

  /** Removes all, unless the server ends without any time for that (`graceMs` 0): the next server removes them then. Repeatable. */
  async stop(graceMs: number): Promise<void> {
    await this.refill.stop();
    if (graceMs > 0) await this.drain();
  }

  /** To be held while a create is worked on: nothing is made for the pool meanwhile. */
  working(): Disposable {
    return this.refill.pause();
  }

  /** A waiting sandbox that can become what is wanted. It is the caller's until `giveBack`. */
  reserve(wanted: SandboxRecord, template: CreateTemplate): Reserved | undefined {
    const kind = this.isOn ? kindOf(wanted, template) : undefined;
    const member = kind && this.members.take(kind.key);
    return member && this.reserved(member);
  }

  /** A create has succeeded; the next ones of its kind may find a sandbox that waits. */
  used(wanted: SandboxRecord, template: CreateTemplate): void {
    const kind = this.isOn ? kindOf(wanted, template) : undefined;
    if (!kind) return;
    this.demand.note(kind.key, this.parts.clock.monotonic());
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

  private reserved(member: Member): Reserved {
    const { engine } = this.parts;
    const { sandbox, from } = member;
    let isKept = true;
    return {
      id: sandbox.id,
      claim: async (wanted, template, signal) => {
        isKept = false;
        let isReady = false;
        const onReady = () => {
          isReady = true;
        };
        // In this turn of the event loop: the limits count it from now on.
        sandbox.claim = ofMember(wanted, sandbox);
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

/** The wanted record for the sandbox of the pool that becomes it. */
function ofMember(wanted: SandboxRecord, { id, record }: Sandbox): SandboxRecord {
  const { incarnation, facts } = record;
  return { ...wanted, id, incarnation, state: "running", facts: { ...wanted.facts, initKey: facts.initKey } };
}
