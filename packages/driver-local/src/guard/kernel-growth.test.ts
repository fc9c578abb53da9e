import { expect, test } from "bun:test";
import { newSandboxId } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { KernelGrowth, type Suspect } from "./kernel-growth.ts";

const MIB = 1 << 20;
const LOOK_MS = 500;

/** A machine of 8 GiB with a reserve of 1 GiB, on which time passes by looks and trials. */
class World {
  private kernelBytes = 200 * MIB;
  private countedBytes = 0;
  private sparedBytes = 0;
  private availableBytes = 6_000 * MIB;
  private readonly running: Inside[] = [];
  readonly ended: string[] = [];
  readonly tried: string[] = [];
  readonly growth: KernelGrowth;

  constructor() {
    this.growth = new KernelGrowth({
      memory: () => this.memory(),
      countedBytes: () => this.countedBytes,
      sparedBytes: () => this.sparedBytes,
      reserveBytes: 1024 * MIB,
      // Longer sleeps are limits that are not reached.
      sleep: async (ms) => (ms <= LOOK_MS ? this.pass(ms) : new Promise(() => {})),
      logger: silentLogger,
    });
  }

  private memory() {
    return { totalBytes: 8_192 * MIB, availableBytes: this.availableBytes, kernelBytes: this.kernelBytes, reclaimableBytes: 0 };
  }

  /** `rate`: MiB of the kernel's memory that it takes in a second; `load`: share of a processor that it has in the kernel. */
  add(name: string, facts: { rate?: number; counted?: boolean; load: number; isBusy?: boolean }): Inside {
    const inside = new Inside(name, { rate: 0, counted: false, isBusy: false, ...facts }, this);
    this.running.push(inside);
    return inside;
  }

  end(inside: Inside): void {
    this.ended.push(inside.name);
    this.running.splice(this.running.indexOf(inside), 1);
    this.kernelBytes -= inside.takenBytes;
    this.availableBytes += inside.takenBytes;
  }

  /** A program of the machine takes memory that is no kernel's. */
  take(bytes: number): void {
    this.availableBytes -= bytes;
  }

  /** Processors keep pages that were freed. */
  spare(bytes: number): void {
    this.sparedBytes += bytes;
    this.kernelBytes += bytes;
    this.availableBytes -= bytes;
  }

  private pass(ms: number): void {
    for (const inside of this.running) {
      const bytes = inside.pass(ms);
      this.kernelBytes += bytes;
      this.availableBytes -= bytes;
      if (inside.facts.counted) this.countedBytes += bytes;
    }
  }

  async looks(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      this.pass(LOOK_MS);
      this.growth.look(this.memory(), [...this.running]);
      await this.growth.settled();
    }
  }
}

class Inside implements Suspect {
  readonly id = newSandboxId();
  readonly name: string;
  facts: { rate: number; counted: boolean; load: number; isBusy: boolean };
  takenBytes = 0;
  private usec = 0;
  private isFrozen = false;
  private readonly world: World;

  constructor(name: string, facts: Inside["facts"], world: World) {
    this.name = name;
    this.facts = facts;
    this.world = world;
  }

  pass(ms: number): number {
    if (this.isFrozen) return 0;
    this.usec += this.facts.load * ms * 1000;
    const bytes = (this.facts.rate * MIB * ms) / 1000;
    this.takenBytes += bytes;
    return bytes;
  }

  systemUsec = () => this.usec;

  onTrial = async (isCause: () => Promise<boolean>): Promise<boolean | undefined> => {
    if (this.facts.isBusy) return undefined;
    this.world.tried.push(this.name);
    this.isFrozen = true;
    const verdict = await isCause();
    this.isFrozen = false;
    if (verdict) this.world.end(this);
    return verdict;
  };
}

test("the sandbox with which the growth stops is ended, not a busier one; neither is tried while enough is left", async () => {
  const world = new World();
  world.add("busy", { load: 1.8 });
  world.add("quiet", { load: 0 });
  world.add("thief", { rate: 300, load: 0.2 });
  await world.looks(30);
  expect([world.tried, world.ended]).toEqual([[], []]);
  await world.looks(20);
  expect(world.ended).toEqual(["thief"]);
  expect(world.tried).toEqual(["busy", "thief"]);
});

test("kernel memory that is on accounts, memory of programs, and pages that processors keep end nobody", async () => {
  const world = new World();
  world.add("threads", { rate: 200, counted: true, load: 1 });
  await world.looks(5);
  world.take(4_000 * MIB);
  await world.looks(10);
  world.spare(900 * MIB);
  await world.looks(10);
  expect([world.tried, world.ended]).toEqual([[], []]);
});

test("one that takes memory and then waits is ended by what was seen, not one that came later", async () => {
  const world = new World();
  world.add("busy", { load: 0.5 });
  const thief = world.add("thief", { rate: 500, load: 0.9 });
  await world.looks(20);
  thief.facts = { ...thief.facts, rate: 0, load: 0 };
  world.add("new", { load: 2 });
  world.take(600 * MIB);
  await world.looks(3);
  expect(world.ended).toEqual(["thief"]);
});

test("two that take memory at a time are both ended, one after the other, and one that stands still holds nobody up", async () => {
  const world = new World();
  world.add("still", { load: 3, isBusy: true });
  world.add("one", { rate: 150, load: 1 });
  world.add("two", { rate: 140, load: 0.9 });
  await world.looks(120);
  expect(world.ended.toSorted()).toEqual(["one", "two"]);
});

test("what was seen before a calm time is forgotten", async () => {
  const world = new World();
  const before = world.add("before", { rate: 100, load: 1 });
  await world.looks(10);
  before.facts = { ...before.facts, rate: 0, load: 0.01 };
  world.growth.calm();
  world.add("thief", { rate: 600, load: 0.5 });
  await world.looks(20);
  expect(world.ended).toEqual(["thief"]);
});
