import { expect, test } from "bun:test";
import { FakeClock } from "@boxyard/core";
import { CreateGate } from "./create-gate.ts";

const never = new AbortController().signal;

function setUp(concurrent: number, queued: number) {
  const clock = new FakeClock();
  const gate = new CreateGate({ concurrent, queued, waitMs: 1000 }, clock);
  const order: number[] = [];
  const jobs: { done: () => void; result: Promise<unknown> }[] = [];
  const enter = (n: number, signal = never, team = "a") => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const work = async () => {
      order.push(n);
      await promise;
    };
    const result = gate.run(team, signal, work).catch((error: unknown) => error);
    jobs.push({ done: resolve, result });
    return result;
  };
  const settle = () => new Promise<void>((resolve) => setTimeout(resolve, 0));
  return { clock, order, jobs, enter, settle };
}

test("runs as many as may run at once, the others in their order", async () => {
  const { order, jobs, enter, settle } = setUp(2, 10);
  for (let n = 0; n < 5; n++) void enter(n);
  await settle();
  expect(order).toEqual([0, 1]);
  jobs[1]?.done();
  await settle();
  expect(order).toEqual([0, 1, 2]);
  for (const job of jobs) job.done();
  await Promise.all(jobs.map((job) => job.result));
  expect(order).toEqual([0, 1, 2, 3, 4]);
});

test("teams take turns: one that waits with many does not keep another waiting", async () => {
  const { order, jobs, enter, settle } = setUp(1, 10);
  for (let n = 0; n < 4; n++) void enter(n);
  void enter(10, never, "b");
  void enter(11, never, "b");
  await settle();
  for (const at of [0, 1, 4, 2, 5, 3]) {
    jobs[at]?.done();
    await settle();
  }
  expect(order).toEqual([0, 1, 10, 2, 11, 3]);
});

test("when the queue is full, a team with less in it takes a place from the team with the most", async () => {
  const { order, jobs, enter, settle } = setUp(1, 3);
  const results = [0, 1, 2, 3].map((n) => enter(n));
  const other = enter(10, never, "b");
  expect(await results[3]).toMatchObject({ code: "resource_exhausted", reason: "too_many_creates" });
  // Now the teams have two and one: nobody is displaced any more.
  expect(await enter(11, never, "b")).toMatchObject({ reason: "too_many_creates" });
  for (const job of jobs) job.done();
  await Promise.all([...results, other]);
  await settle();
  expect(order).toEqual([0, 1, 10, 2]);
});

test("refuses when the queue is full", async () => {
  const { jobs, enter, settle } = setUp(1, 1);
  void enter(0);
  void enter(1);
  expect(await enter(2)).toMatchObject({ code: "resource_exhausted", details: { retryAfter: 1 } });
  for (const job of jobs) job.done();
  await settle();
});

test("a wait that takes too long, or whose caller aborts, fails and leaves its place free", async () => {
  const { clock, order, jobs, enter, settle } = setUp(1, 10);
  const abort = new AbortController();
  void enter(0);
  const late = enter(1);
  const gone = enter(2, abort.signal);
  abort.abort(new Error("gone"));
  expect(await gone).toMatchObject({ message: "gone" });
  await settle();
  await clock.advance(1001);
  expect(await late).toMatchObject({ code: "unavailable", reason: "sandbox_capacity_unavailable" });
  jobs[0]?.done();
  await settle();
  void enter(3);
  await settle();
  expect(order).toEqual([0, 3]);
  jobs[3]?.done();
});

test("frees the place of work that failed", async () => {
  const gate = new CreateGate({ concurrent: 1, queued: 0, waitMs: 1 }, new FakeClock());
  for (let i = 0; i < 3; i++) {
    await expect(
      gate.run("a", never, async () => {
        throw new Error("broken");
      }),
    ).rejects.toThrow("broken");
  }
});
