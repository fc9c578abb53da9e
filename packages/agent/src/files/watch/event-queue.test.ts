import { expect, test } from "bun:test";
import { AppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { EventQueue, LOST } from "./event-queue.ts";
import type { TreeEvent } from "./tree.ts";

const event = (name: string, type: TreeEvent["type"] = "EVENT_TYPE_WRITE"): TreeEvent => ({ name, type });

function takeAll(queue: EventQueue): TreeEvent[] {
  const taken = [];
  for (let next = queue.take(); next; next = queue.take()) taken.push(next);
  return taken;
}

test("keeps the order, and drops an event equal to the last waiting one of its name", () => {
  const queue = new EventQueue({ bytes: 0 });
  for (const each of [event("a"), event("b"), event("a"), event("a", "EVENT_TYPE_REMOVE"), event("a"), event("b")]) queue.push(each);
  expect(queue.length).toBe(4);
  expect(takeAll(queue)).toEqual([event("a"), event("b"), event("a", "EVENT_TYPE_REMOVE"), event("a")]);
  expect([queue.length, takeAll(queue)]).toEqual([0, []]);
});

test("an event equal to one that was taken is queued again", () => {
  const queue = new EventQueue({ bytes: 0 });
  queue.push(event("a"));
  queue.push(event("b"));
  expect(queue.take()).toEqual(event("a"));
  queue.push(event("a"));
  expect(takeAll(queue)).toEqual([event("b"), event("a")]);
});

test("keeps the order of thousands of events", () => {
  const budget = { bytes: 0 };
  const queue = new EventQueue(budget);
  const taken: (TreeEvent | undefined)[] = [];
  for (let i = 0; i < 10_000; i++) {
    queue.push(event(String(i)));
    if (i % 3 > 0) taken.push(queue.take());
  }
  taken.push(...takeAll(queue));
  expect(taken.map((each) => each?.name)).toEqual(Array.from({ length: 10_000 }, (_, i) => String(i)));
  expect(budget.bytes).toBe(0);
});

/** Pushes until an event is dropped; returns how many were kept. */
function fill(queue: EventQueue, nameOf: (i: number) => string): number {
  for (let i = 0; ; i++) {
    const before = queue.length;
    queue.push(event(nameOf(i)));
    // LOST took the place of the first dropped event.
    if (i > 0 && queue.length === before) return before - 1;
  }
}

test("is bounded in bytes; a loss is reported once, after the kept events, and later events are queued again", () => {
  const budget = { bytes: 0 };
  const queue = new EventQueue(budget);
  const kept = fill(queue, (i) => String(i).padStart(4000, "x"));
  expect(kept).toBeGreaterThan(1000);
  expect(budget.bytes).toBeLessThanOrEqual(LIMITS.queuedEventBytes);
  queue.push(event("late"));
  const taken = takeAll(queue);
  expect([taken.length, taken.at(-1), budget.bytes]).toEqual([kept + 1, LOST, 0]);
  queue.push(event("a"));
  expect(takeAll(queue)).toEqual([event("a")]);
});

test("has room for the events of 30,000 new files", () => {
  const queue = new EventQueue({ bytes: 0 });
  for (let i = 0; i < 30_000; i++) {
    queue.push(event(`a/directory/file-${i}`, "EVENT_TYPE_CREATE"));
    queue.push(event(`a/directory/file-${i}`, "EVENT_TYPE_CHMOD"));
  }
  expect([queue.length, takeAll(queue).includes(LOST)]).toEqual([60_000, false]);
});

test("the bytes of all queues together are bounded", () => {
  const budget = { bytes: LIMITS.queuedEventBytesTotal - 200 };
  const [one, two] = [new EventQueue(budget), new EventQueue(budget)];
  one.push(event("a"));
  two.push(event("b"));
  expect(takeAll(two)).toEqual([LOST]);
  one.drop();
  two.push(event("c"));
  expect(takeAll(two)).toEqual([event("c")]);
});

test("a failure is thrown after the waiting events, at each call", () => {
  const queue = new EventQueue({ bytes: 0 });
  queue.push(event("a"));
  queue.fail(new AppError("resource_exhausted", "no room"));
  expect(queue.take()).toEqual(event("a"));
  expect(() => queue.take()).toThrow("no room");
  expect(() => queue.take()).toThrow("no room");
});

test("ready waits for an event, a loss, a failure or the signal", async () => {
  const queue = new EventQueue({ bytes: 0 });
  const { signal } = new AbortController();
  const waiting = queue.ready(signal);
  queue.push(event("a"));
  await waiting;
  await queue.ready(signal);
  takeAll(queue);
  const lossy = queue.ready(signal);
  queue.lose();
  await lossy;
  expect(takeAll(queue)).toEqual([LOST]);
  const leaving = new AbortController();
  const left = queue.ready(leaving.signal);
  leaving.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  await expect(queue.ready(leaving.signal)).rejects.toThrow("left");
  const failing = queue.ready(signal);
  queue.fail(new AppError("internal", "broken"));
  await failing;
  await queue.ready(signal);
});
