import type { Engine } from "../engine/engine.ts";
import type { Sandbox } from "../engine/sandbox.ts";
import type { Liveness } from "../upkeep/liveness.ts";

/** A sandbox that waits. */
export interface Member {
  readonly kind: string;
  readonly sandbox: Sandbox;
  /** Undefined: not measured. */
  readonly memoryBytes?: number;
}

interface MembersParts {
  readonly engine: Pick<Engine, "end" | "sandboxes">;
  readonly liveness: Pick<Liveness, "isUnresponsive">;
}

/** What a sandbox is counted with until one of its kind was measured. */
const USUAL_BYTES = 32 * 2 ** 20;

/** The sandboxes that wait, oldest first. Those that have ended by themselves are left out of every answer. */
export class Members {
  private readonly parts: MembersParts;
  private readonly budget: { readonly sandboxes: number; readonly memoryBytes: number };
  private members: Member[] = [];
  /** Reserved for creates in progress: they count against the budget. */
  private readonly lent = new Set<Member>();
  private readonly sizes = new Map<string, number>();

  constructor(parts: MembersParts, budget: { readonly sandboxes: number; readonly memoryBytes: number }) {
    this.parts = parts;
    this.budget = budget;
  }

  get size(): number {
    return this.waiting().length;
  }

  /** True for one that waits or is lent. */
  has(sandbox: Sandbox): boolean {
    return [...this.members, ...this.lent].some((member) => member.sandbox === sandbox);
  }

  countOf(kind: string): number {
    return this.waiting().filter((member) => member.kind === kind).length;
  }

  /** True when one more of the kind fits. `inMaking`: how many of each kind will be added. */
  hasBudgetFor(kind: string, inMaking: ReadonlyMap<string, number>): boolean {
    const all = [...this.waiting(), ...this.lent];
    const making = [...inMaking].flatMap(([other, count]) => Array.from({ length: count }, () => this.sizeOf(other)));
    const usedBytes = [...all.map((member) => this.bytesOf(member)), ...making].reduce((sum, bytes) => sum + bytes, 0);
    return all.length + making.length < this.budget.sandboxes && usedBytes + this.sizeOf(kind) <= this.budget.memoryBytes;
  }

  add(member: Member): void {
    if (member.memoryBytes !== undefined) this.know(member.kind, member.memoryBytes);
    this.members.push(member);
  }

  /** What each of the kind takes. */
  know(kind: string, bytes: number): void {
    this.sizes.delete(kind);
    this.sizes.set(kind, bytes);
    const [oldest] = this.sizes.keys();
    if (this.sizes.size > 64 && oldest !== undefined) this.sizes.delete(oldest);
  }

  private bytesOf({ kind, memoryBytes }: Member): number {
    return memoryBytes ?? this.sizeOf(kind);
  }

  private sizeOf(kind: string): number {
    return this.sizes.get(kind) ?? USUAL_BYTES;
  }

  /** The oldest of the kind, which waits no more. */
  take(kind: string): Member | undefined {
    const member = this.waiting().find((some) => some.kind === kind && !this.parts.liveness.isUnresponsive(some.sandbox));
    if (!member) return undefined;
    this.members = this.members.filter((some) => some !== member);
    this.lent.add(member);
    return member;
  }

  giveBack(member: Member): void {
    this.lent.delete(member);
    this.members.unshift(member);
  }

  /** The reserved sandbox is a user's now, or was removed. */
  gone(member: Member): void {
    this.lent.delete(member);
  }

  /** Takes out all that no longer should wait: `keep` says how many of each kind may, as far as the memory suffices. The others are the caller's to remove. */
  surplus(keep: (kind: string) => number): Sandbox[] {
    const counts = new Map<string, number>();
    const out: Member[] = [];
    let keptBytes = 0;
    for (const member of this.waiting()) {
      const count = (counts.get(member.kind) ?? 0) + 1;
      const isTooMuch = count > keep(member.kind) || keptBytes + this.bytesOf(member) > this.budget.memoryBytes;
      if (isTooMuch || this.parts.liveness.isUnresponsive(member.sandbox)) out.push(member);
      else {
        counts.set(member.kind, count);
        keptBytes += this.bytesOf(member);
      }
    }
    this.members = this.members.filter((member) => !out.includes(member));
    return out.map(({ sandbox }) => sandbox);
  }

  takeAll(): Member[] {
    const all = this.waiting();
    this.members = [];
    return all;
  }

  /** Never throws: the sweep tries a failed removal again. */
  async remove(sandbox: Sandbox): Promise<void> {
    await this.parts.engine.end(sandbox, "released").catch(() => {});
  }

  private waiting(): Member[] {
    this.members = this.members.filter(({ sandbox }) => sandbox.state === "running" && sandbox.record.owner.kind === "pool");
    return this.members;
  }
}
