import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeClock } from "@boxyard/core";
import { type Logger, silentLogger } from "@boxyard/core/node";
import { eventually } from "@boxyard/testkit";
import { EventReader } from "./event-reader.ts";
import { type EventStore, SqlStore, type StoreEvent } from "./store/index.ts";
import { sampleRecord } from "./store/sample-record.ts";

let directory: string;
let store: SqlStore;
const open = () => SqlStore.open({ file: join(directory, "boxyard.db") }, "here");
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "boxyard-events-"));
  store = await open();
});
afterEach(async () => {
  await store.close();
  await rm(directory, { recursive: true });
});

const change = () => store.insertSandbox(sampleRecord());
const reader = (deliver: (events: readonly StoreEvent[]) => Promise<void>, clock = new FakeClock()) =>
  new EventReader({ name: "test", events: store.events, logger: silentLogger, clock, deliver });
const cursors = (events: readonly StoreEvent[]) => events.map(({ cursor }) => cursor);

test("gets the events before its start and after it, each once and in order", async () => {
  for (let n = 0; n < 3; n++) await change();
  const seen: number[] = [];
  const clock = new FakeClock();
  const one = reader(async (events) => void seen.push(...cursors(events)), clock);
  /** The reader waits a moment for more events, by its clock. */
  const hasRead = (count: number) =>
    eventually(`it has read ${count}`, async () => {
      await clock.advance(100);
      return seen.length === count;
    });
  one.start();
  await hasRead(3);
  await change();
  await hasRead(4);
  await change();
  await one.stop();
  expect(seen).toEqual([1, 2, 3, 4, 5]);
  await change();
  await one.catchUp();
  expect(seen.at(-1)).toBe(6);
});

test("gets the same events again after a failure, and after a restart the events that it has not processed", async () => {
  for (let n = 0; n < 2; n++) await change();
  const seen: number[][] = [];
  const failing = reader(async (events) => {
    seen.push(cursors(events));
    throw new Error("no");
  });
  await failing.catchUp();
  await failing.catchUp();
  expect(seen).toEqual([
    [1, 2],
    [1, 2],
  ]);
  await store.close();
  store = await open();
  await change();
  const next = reader(async (events) => void seen.push(cursors(events)));
  await next.catchUp();
  await next.catchUp();
  expect(seen.slice(2)).toEqual([[1, 2, 3]]);
});

test("goes on behind events that were removed before it read them, and logs how many", async () => {
  for (let n = 0; n < 5; n++) await change();
  await store.events.prune(0, 2);
  const seen: number[] = [];
  const warnings: unknown[] = [];
  const logger = { ...silentLogger, warn: (facts: unknown) => void warnings.push(facts) } as Logger;
  const deliver = async (events: readonly StoreEvent[]) => void seen.push(...cursors(events));
  await new EventReader({ name: "test", events: store.events, logger, clock: new FakeClock(), deliver }).catchUp();
  expect([seen, warnings]).toEqual([[4, 5], [{ reader: "test", missed: 3 }]]);
});

/** A reader for which the event `poison` always fails, and what it did: 60 tries, each `everyMs` after the one before. */
async function readWithPoison({ poison, everyMs, events = store.events }: { poison: number; everyMs: number; events?: EventStore }) {
  const clock = new FakeClock();
  const [seen, errors]: [number[], object[]] = [[], []];
  const logger = { ...silentLogger, error: (facts: object) => void errors.push(facts) } as Logger;
  const deliver = async (batch: readonly StoreEvent[]) => {
    if (cursors(batch).includes(poison)) throw new Error("poison");
    seen.push(...cursors(batch));
  };
  const one = new EventReader({ name: "test", events, logger, clock, deliver });
  for (let n = 0; n < 60; n++) {
    await one.catchUp();
    await clock.advance(everyMs);
  }
  return { seen, skipped: errors.filter((facts) => "event" in facts) };
}

test("skips an event that fails each time, after some tries, with a line in the log, and no other event", async () => {
  for (let n = 0; n < 5; n++) await change();
  const { seen, skipped } = await readWithPoison({ poison: 3, everyMs: 5000 });
  expect(seen).toEqual([1, 2, 4, 5]);
  expect(skipped).toMatchObject([{ reader: "test", event: 3, action: "sandbox.creating", err: expect.any(Error) }]);
  expect(await store.events.cursorOf("test")).toBe(5);
});

test("skips no event because of many tries within a short time, or while the store takes no writes", async () => {
  for (let n = 0; n < 2; n++) await change();
  expect((await readWithPoison({ poison: 2, everyMs: 10 })).skipped).toEqual([]);
  const full = Object.create(store.events, { saveCursor: { value: () => Promise.reject(new Error("full")) } });
  expect((await readWithPoison({ poison: 2, everyMs: 5000, events: full })).skipped).toEqual([]);
});

test("a process that is killed in a transaction leaves nothing of it, and no gap between the events", async () => {
  await change();
  const script = `
    const { SqlStore } = await import(${JSON.stringify(join(import.meta.dir, "store/index.ts"))});
    const { sampleRecord } = await import(${JSON.stringify(join(import.meta.dir, "store/sample-record.ts"))});
    const store = await SqlStore.open({ file: ${JSON.stringify(join(directory, "boxyard.db"))} }, "here");
    await store.transaction(async (tx) => {
      await tx.insertSandbox(sampleRecord());
      process.kill(process.pid, "SIGKILL");
      await new Promise(() => {});
    });`;
  const child = Bun.spawn([process.execPath, "-e", script], { stderr: "pipe" });
  await child.exited;
  expect([child.signalCode, await new Response(child.stderr).text()]).toEqual(["SIGKILL", ""]);
  await change();
  expect(cursors(await store.events.read(0, 10))).toEqual([1, 2]);
  expect(await store.listLiving()).toHaveLength(2);
});
