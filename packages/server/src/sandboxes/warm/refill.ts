import { atOnce, type Clock, Rounds } from "@boxyard/core";
import type { SandboxDriver } from "@boxyard/driver";
import { actAs, SERVER } from "../../actor.ts";
import type { Admission } from "../create/admission.ts";
import type { Engine } from "../engine/engine.ts";
import type { Sandbox } from "../engine/sandbox.ts";
import type { TemplateSource } from "../ports.ts";
import { warm } from "../transitions/warm.ts";
import { type Kind, keyOf, newMember } from "./kind.ts";
import type { Members } from "./members.ts";

export interface RefillParts {
  readonly engine: Engine;
  readonly admission: Pick<Admission, "create">;
  readonly templates: Pick<TemplateSource, "isTagged">;
  readonly driver: Pick<SandboxDriver, "capacity" | "capabilities">;
  readonly clock: Clock;
  readonly members: Members;
  /** How many of each kind should wait. */
  readonly wanted: () => ReadonlyMap<string, number>;
  /** No more of this kind will be asked for. */
  readonly forget: (kind: string) => void;
  /** Adds what others have made and nobody has taken in yet. */
  readonly takeIn: () => Promise<void>;
}

/** Time without any create, and without anything made, before something is made for the pool: a client sends its first command in that time. */
const QUIET_MS = 30;
/** Longest pause of what is being made, for creates that come meanwhile. */
const MOST_PAUSE_MS = 1000;
/** Made at once where other machines make them. */
const FAR_AT_ONCE = 8;
/** How long nothing is made after a failure, or after the pool has given way. */
const BACK_OFF_MS = 30_000;
const ROUND_MS = 5000;
/** The part of the machine's memory for sandboxes that must be free for another one to be made, and for those that wait to stay. */
const LEAST_FREE = { toMake: 1 / 8, toKeep: 1 / 16 } as const;

/** A build of a template. */
type Build = Pick<Kind["record"], "templateId"> & { readonly facts: Pick<Kind["record"]["facts"], "buildId"> };

interface Known {
  readonly build: Build;
  /** What more of the kind are made from, as the last create had it; undefined until a create has asked for the kind. */
  readonly kind?: Kind;
}

/**
 * Makes the sandboxes that wait, and removes those that need not or should not wait any more. On this machine they are made one at a time, while no create is
 * worked on; where other machines make them, several at once and at any time.
 */
export class Refill {
  private readonly parts: RefillParts;
  private readonly rounds: Rounds;
  private readonly kinds = new Map<string, Known>();
  /** All that this server has made for the pool. */
  private readonly made = new WeakSet<Sandbox>();
  private work: Promise<void> | undefined;
  /** Aborts what is being made. */
  private making = new AbortController();
  /** Of each kind, how many are being made. */
  private readonly inMaking = new Map<string, number>();
  private creates = 0;
  private quietSince = 0;
  private notBefore = 0;

  constructor(parts: RefillParts) {
    this.parts = parts;
    this.rounds = new Rounds(() => this.once(), { clock: parts.clock, everyMs: ROUND_MS, onError: () => {} });
  }

  start(): void {
    this.rounds.start();
  }

  async stop(): Promise<void> {
    this.making.abort();
    await this.rounds.stop();
    await this.work;
  }

  /** Holds back what makes more, until the end of a create. */
  pause(): Disposable {
    this.creates += 1;
    return {
      [Symbol.dispose]: () => {
        this.creates -= 1;
        this.quietSince = this.parts.clock.monotonic();
        this.wake();
      },
    };
  }

  /** What sandboxes of a kind are made from, as the last create had it. */
  know(kind: Kind): void {
    if (!this.isCurrent(kind.record)) return;
    this.kinds.set(kind.key, { build: kind.record, kind });
    const { driver, members } = this.parts;
    if (driver.capabilities.setsMemoryAside) members.know(kind.key, kind.record.facts.resources.memoryBytes);
  }

  /** A sandbox of another server waits, of this kind. */
  found(key: string, build: Build): void {
    if (!this.kinds.has(key)) this.kinds.set(key, { build });
  }

  hasMade(sandbox: Sandbox): boolean {
    return this.made.has(sandbox);
  }

  /** Whether creates that name the template can get this build: false when it was built again or deleted. */
  private isCurrent({ templateId, facts }: Build): boolean {
    return this.parts.templates.isTagged(templateId, facts.buildId);
  }

  /** Stops what is being made, and makes nothing for a while. Returns whether something was being made. */
  async giveWay(): Promise<boolean> {
    this.backOff();
    if (!this.work) return false;
    this.making.abort();
    await this.work;
    return true;
  }

  /** Removes what need not wait: too many, of a build that no tag points to, or with an agent that does not answer; and all while memory is short. */
  private async once(): Promise<void> {
    const { members, wanted, forget, takeIn } = this.parts;
    await takeIn();
    for (const [key, { build }] of this.kinds) if (!this.isCurrent(build)) forget(key);
    const counts = wanted();
    for (const key of this.kinds.keys()) if (!counts.has(key)) this.kinds.delete(key);
    const isShort = members.size > 0 && !(await this.hasRoom(LEAST_FREE.toKeep));
    if (isShort) this.backOff();
    const surplus = members.surplus((key) => (this.kinds.has(key) && !isShort ? (counts.get(key) ?? 0) : 0));
    await atOnce(surplus, 4, (sandbox) => members.remove(sandbox));
    this.wake();
  }

  private wake(): void {
    if (this.work || this.rounds.signal.aborted || this.parts.clock.monotonic() < this.notBefore) return;
    if (!this.next()) return;
    this.making = new AbortController();
    const { signal } = this.making;
    // As the server: the caller of the create that has just ended makes nothing more.
    const makers = Array.from({ length: this.isFar ? FAR_AT_ONCE : 1 }, () => actAs(SERVER, () => this.fill(signal)));
    this.work = Promise.all(makers).then(() => {
      this.work = undefined;
    });
  }

  private next(): Kind | undefined {
    const { members, wanted } = this.parts;
    const isShort = ([key, count]: [string, number]) =>
      this.kinds.get(key)?.kind !== undefined &&
      members.countOf(key) + (this.inMaking.get(key) ?? 0) < count &&
      members.hasBudgetFor(key, this.inMaking);
    const [key] = [...wanted()].find(isShort) ?? [];
    return key === undefined ? undefined : this.kinds.get(key)?.kind;
  }

  /** Never throws. */
  private async fill(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        if (!this.isFar) await this.untilQuiet(signal);
        if (!(await this.hasRoom(LEAST_FREE.toMake))) return;
        const kind = this.next();
        if (!kind || signal.aborted) return;
        this.count(kind.key, 1);
        await this.make(kind, signal).finally(() => this.count(kind.key, -1));
        this.quietSince = this.parts.clock.monotonic();
      }
    } catch {
      // The log has the error of the transition.
      this.backOff();
    }
  }

  /** Whether other machines make the sandboxes: that takes nothing from the creates that are worked on. */
  private get isFar(): boolean {
    return this.parts.driver.capabilities.relabel === "remote";
  }

  private count(key: string, more: number): void {
    const count = (this.inMaking.get(key) ?? 0) + more;
    if (count > 0) this.inMaking.set(key, count);
    else this.inMaking.delete(key);
  }

  private backOff(): void {
    this.notBefore = this.parts.clock.monotonic() + BACK_OFF_MS;
  }

  private async untilQuiet(signal: AbortSignal, mostMs = Infinity): Promise<void> {
    const { clock } = this.parts;
    const until = clock.monotonic() + mostMs;
    for (;;) {
      signal.throwIfAborted();
      const now = clock.monotonic();
      const left = this.creates > 0 ? QUIET_MS : this.quietSince + QUIET_MS - now;
      if (left <= 0 || now >= until) return;
      await clock.sleep(left, signal);
    }
  }

  private async hasRoom(least: number): Promise<boolean> {
    const { memoryFreeBytes, memoryLimitBytes } = await this.parts.driver.capacity();
    return memoryFreeBytes >= memoryLimitBytes * least;
  }

  private async make(kind: Kind, signal: AbortSignal): Promise<void> {
    const { engine, admission, clock, driver, members, forget } = this.parts;
    await admission.create(newMember(kind, clock.now()), signal, async (record) => {
      const sandbox = engine.add(record);
      this.made.add(sandbox);
      const untilQuiet = async (stop: AbortSignal) => (this.isFar ? undefined : this.untilQuiet(stop, MOST_PAUSE_MS));
      const key = keyOf(await engine.make(sandbox, warm, { template: kind.template, untilQuiet }, { signal }));
      const memoryBytes = driver.capabilities.setsMemoryAside ? record.facts.resources.memoryBytes : await memoryOf(sandbox);
      members.add({ kind: key, sandbox, ...(memoryBytes !== undefined && { memoryBytes }) });
      // The image of the template could not be started from, so this one booted: creates do not ask for the kind any more.
      if (key !== kind.key) forget(kind.key);
    });
  }
}

const memoryOf = ({ driver, handle }: Sandbox): Promise<number | undefined> =>
  driver.stats(handle).then(
    ({ memoryUsedBytes }) => memoryUsedBytes,
    () => undefined,
  );
