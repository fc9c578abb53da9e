import { expect, test } from "bun:test";
import { LIMITS } from "../limits.ts";
import { EventQueue } from "./event-queue.ts";
import type { TreeEvent } from "./tree.ts";

const event = (name: string, type: TreeEvent["type"] = "EVENT_TYPE_WRITE"): TreeEvent => ({ name, type });
const lost = expect.objectContaining({ code: "data_loss" });

test("keeps order and says equal neighbours once", () => {
  const queue = new EventQueue({ queued: 0 });
  for (const each of [event("a"), event("a"), event("b"), event("a"), event("a", "EVENT_TYPE_REMOVE")]) queue.push(each);
  expect(queue.take()).toEqual([event("a"), event("b"), event("a"), event("a", "EVENT_TYPE_REMOVE")]);
  expect(queue.take()).toEqual([]);
});

test("is bounded; what it lost is told once, after what it kept", () => {
  const budget = { queued: 0 };
  const queue = new EventQueue(budget);
  for (let i = 0; i < LIMITS.queuedEvents + 10; i++) queue.push(event(String(i)));
  expect(budget.queued).toBe(LIMITS.queuedEvents);
  expect(queue.take()).toHaveLength(LIMITS.queuedEvents);
  expect(() => queue.take()).toThrow(lost);
  expect(queue.take()).toEqual([]);
  expect(budget.queued).toBe(0);
});

test("all queues together are bounded", () => {
  const budget = { queued: LIMITS.queuedEventsTotal - 1 };
  const [one, two] = [new EventQueue(budget), new EventQueue(budget)];
  one.push(event("a"));
  two.push(event("b"));
  expect(() => two.take()).toThrow(lost);
  one.drop();
  two.push(event("c"));
  expect(two.take()).toEqual([event("c")]);
});

test("ready waits for an event, a loss or the signal", async () => {
  const queue = new EventQueue({ queued: 0 });
  const { signal } = new AbortController();
  const waiting = queue.ready(signal);
  queue.push(event("a"));
  await waiting;
  await queue.ready(signal);
  queue.take();
  const lossy = queue.ready(signal);
  queue.lose();
  await lossy;
  expect(() => queue.take()).toThrow(lost);
  const leaving = new AbortController();
  const left = queue.ready(leaving.signal);
  leaving.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  await expect(queue.ready(leaving.signal)).rejects.toThrow("left");
});
