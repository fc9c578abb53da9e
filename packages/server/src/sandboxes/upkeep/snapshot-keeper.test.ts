import { afterEach, beforeEach, expect, test } from "bun:test";
import { FakeClock, type SandboxId, type TeamId } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { FakeDriver, FakeWorld } from "@boxyard/driver/fake";
import { EventLog } from "../../event-log.ts";
import { SqlStore } from "../../store/index.ts";
import { SnapshotKeeper } from "./snapshot-keeper.ts";

const KEEP_MS = 3600_000;
const OPERATION = { kind: "operation", id: "1" } as const;

let store: SqlStore;
let world: FakeWorld;
let clock: FakeClock;
beforeEach(async () => {
  store = await SqlStore.open({ file: ":memory:" }, "node");
  world = new FakeWorld();
  clock = new FakeClock();
});
afterEach(() => store.close());

const keeperOf = () => {
  const events = new EventLog(silentLogger, { add: () => {} } as never);
  return new SnapshotKeeper({ snapshots: new FakeDriver(world).snapshots, store, events, clock, keepMs: KEEP_MS });
};

/** Puts a snapshot on the driver, as a capture does. */
function capture(id: string): void {
  const common = { memory: true, layers: [], memoryBytes: 0, diskUsedBytes: 0, createdAt: 1 };
  world.snapshots.set(id, { info: { id, ...common }, files: new Map() });
}

async function begin(id: string): Promise<void> {
  await store.checkpoints.begin({ id, teamId: "team" as TeamId, sandboxId: "i" as SandboxId, memory: true, createdAt: 1 });
}

const there = () => [...world.snapshots.keys()].sort();
const calls = (verb: string) => world.faults.calls.filter((call) => call === verb).length;

test("removes what nothing refers to and nobody holds, from the driver and then from the store", async () => {
  const keeper = keeperOf();
  const held = keeper.hold();
  for (const id of [held.id, "needed", "unneeded"]) {
    await begin(id);
    capture(id);
  }
  await store.checkpoints.refer("needed", OPERATION);
  await keeper.collect();
  expect(there()).toEqual([held.id, "needed"].sort());
  held[Symbol.dispose]();
  await store.checkpoints.release(OPERATION);
  await keeper.collect();
  expect([there(), await store.checkpoints.listUnused()]).toEqual([[], []]);
});

test("a checkpoint that was noted and never captured is forgotten", async () => {
  await begin("c1");
  await keeperOf().collect();
  expect(await store.checkpoints.find("c1")).toBeUndefined();
});

test("a removal that fails is tried again, also by the next server; nothing can refer to the checkpoint meanwhile", async () => {
  await begin("c1");
  capture("c1");
  world.faults.add("removeSnapshot", { kind: "fail" });
  const keeper = keeperOf();
  await keeper.collect();
  expect([there(), (await store.checkpoints.find("c1"))?.state]).toEqual([["c1"], "removing"]);
  expect(await store.checkpoints.refer("c1", OPERATION)).toBe(false);
  await keeperOf().collect();
  expect([there(), await store.checkpoints.find("c1")]).toEqual([[], undefined]);
});

test("a snapshot that the store does not know is kept for a time; the driver's list is read once in ten minutes", async () => {
  capture("unknown");
  const keeper = keeperOf();
  for (let round = 0; round < 5; round++) await keeper.collect();
  expect([there(), calls("listSnapshots")]).toEqual([["unknown"], 1]);
  clock.advance(KEEP_MS - 1);
  await keeper.collect();
  expect([there(), calls("listSnapshots")]).toEqual([["unknown"], 2]);
  clock.advance(1);
  await keeper.collect();
  expect([there(), calls("listSnapshots")]).toEqual([[], 2]);
});

test("a failed list of the driver does not keep checkpoints from their removal, and is read again in the next round", async () => {
  await begin("c1");
  capture("c1");
  world.faults.add("listSnapshots", { kind: "fail" });
  const keeper = keeperOf();
  await expect(keeper.collect()).rejects.toThrow();
  expect(there()).toEqual([]);
  await keeper.collect();
  expect(calls("listSnapshots")).toBe(2);
});

test("a snapshot whose capture ends after its removal is removed with the next comparison", async () => {
  await begin("c1");
  const keeper = keeperOf();
  await keeper.collect();
  for (const id of ["c1", "unknown"]) capture(id);
  await keeper.collect();
  expect(there()).toEqual(["c1", "unknown"]);
  clock.advance(10 * 60_000);
  await keeper.collect();
  expect(there()).toEqual(["unknown"]);
});
