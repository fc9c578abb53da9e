import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError, FakeClock } from "@boxyard/core";
import { type AgentContext, EncodedEnvelope, type RpcCall } from "../../contracts.ts";
import { LIMITS } from "../limits.ts";
import { EventQueue } from "../watch/event-queue.ts";
import type { Watch } from "../watch/watch.ts";
import { nextEnvelopes, takeAll } from "./watch-events.ts";
import { watchHandlers } from "./watch-handlers.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "watch-handlers-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function setUp() {
  const root = { name: "root", uid: 0, gid: 0, home: "/root", shell: "/bin/sh", groups: [0] };
  const ctx = { clock: new FakeClock(), state: { defaultUser: "root" }, users: { byName: () => root } } as unknown as AgentContext;
  const handlers = watchHandlers(ctx);
  const request = { path: dir, recursive: true, includeEntry: false, allowNetworkMounts: false };
  const create = (signal: AbortSignal) =>
    handlers.CreateWatcher(request, { username: "root", signal } as RpcCall) as Promise<{ watcherId: string }>;
  return { handlers, create };
}

test("a watcher whose client leaves while it is made does not count among the 256", async () => {
  const { handlers, create } = setUp();
  mkdirSync(join(dir, "a/b"), { recursive: true });
  for (let i = 0; i < LIMITS.watchers; i++) {
    const leaving = new AbortController();
    const created = create(leaving.signal);
    leaving.abort(new Error("left"));
    await expect(created).rejects.toThrow("left");
  }
  await expect(create(AbortSignal.abort(new Error("left before")))).rejects.toThrow("left before");
  const { watcherId } = await create(new AbortController().signal);
  handlers.RemoveWatcher({ watcherId }, {} as RpcCall);
});

/** A watch of a queue, without inotify. */
function watchOf(queue: EventQueue): Watch {
  return { queue, present: (event) => event, caughtUp: async () => {}, dispose() {} };
}

function filled(count: number): EventQueue {
  const queue = new EventQueue({ bytes: 0 });
  for (let i = 0; i < count; i++) queue.push({ name: `ä-${i}`, type: "EVENT_TYPE_CREATE" });
  return queue;
}

/** Names of the events in consecutive envelopes. */
function namesIn(bytes: Uint8Array): string[] {
  const names = [];
  const view = Buffer.from(bytes);
  for (let at = 0; at < view.length; ) {
    expect(view[at]).toBe(0);
    const end = at + 5 + view.readUInt32BE(at + 1);
    names.push(JSON.parse(view.toString("utf8", at + 5, end)).filesystem.name);
    at = end;
  }
  return names;
}

test("many events are sent in one piece, in order, each in its envelope; a failure comes after all of them", () => {
  const queue = filled(2000);
  queue.fail(new AppError("resource_exhausted", "no room"));
  const names: string[] = [];
  let pieces = 0;
  for (; queue.length > 0; pieces++) names.push(...namesIn(nextEnvelopes(watchOf(queue))?.bytes ?? new Uint8Array()));
  expect(names).toEqual(Array.from({ length: 2000 }, (_, i) => `ä-${i}`));
  expect(pieces).toBeLessThan(20);
  expect(pieces).toBeGreaterThan(1);
  expect(() => nextEnvelopes(watchOf(queue))).toThrow("no room");
});

test("a poll returns all waiting events, few or many; the next poll throws the failure", async () => {
  const claim = () => ({ hold: async () => {}, release: () => {} }) as never;
  for (const count of [0, 3, 2000]) {
    const queue = filled(count);
    const answer = await takeAll(watchOf(queue), claim);
    const { events } = "pieces" in answer ? JSON.parse(Buffer.concat(answer.pieces).toString()) : answer;
    expect(events.map(({ name }: { name: string }) => name)).toEqual(Array.from({ length: count }, (_, i) => `ä-${i}`));
    queue.fail(new AppError("resource_exhausted", "no room"));
    await expect(takeAll(watchOf(queue), claim)).rejects.toThrow("no room");
  }
});

test("a poll returns all changes made before it, also in new directories", async () => {
  const { handlers, create } = setUp();
  const call = { username: "root", signal: new AbortController().signal } as RpcCall;
  const { watcherId } = await create(call.signal);
  for (let i = 0; i < 200; i++) {
    // In the same turn as the poll: the watch cannot run in between.
    writeFileSync(join(dir, `f${i}`), "x");
    mkdirSync(join(dir, `d${i}/e/g`), { recursive: true });
    writeFileSync(join(dir, `d${i}/e/g/f`), "x");
    const { events } = (await handlers.GetWatcherEvents({ watcherId }, call)) as { events: { name: string; type: string }[] };
    const created = events.filter(({ type }) => type === "EVENT_TYPE_CREATE").map(({ name }) => name);
    expect(created).toEqual([`f${i}`, `d${i}`, `d${i}/e`, `d${i}/e/g`, `d${i}/e/g/f`]);
    expect(events).toContainEqual({ name: `f${i}`, type: "EVENT_TYPE_WRITE" });
  }
  await handlers.RemoveWatcher({ watcherId }, call);
});

test("polls of several watches run at once, and a poll ends when its watch is removed", async () => {
  const { handlers, create } = setUp();
  const call = { username: "root", signal: new AbortController().signal } as RpcCall;
  const [one, two] = await Promise.all([create(call.signal), create(call.signal)]);
  writeFileSync(join(dir, "f"), "x");
  const polls = [one, two, one].map(({ watcherId }) => handlers.GetWatcherEvents({ watcherId }, call)) as Promise<{ events: unknown[] }>[];
  const [first, second] = await Promise.all(polls);
  expect([first?.events.length, second?.events.length]).toEqual([2, 2]);
  const last = handlers.GetWatcherEvents({ watcherId: two.watcherId }, call);
  await handlers.RemoveWatcher(one, call);
  await handlers.RemoveWatcher(two, call);
  await Promise.resolve(last).catch(() => {});
});

test("a watch that cannot watch a new directory reports the earlier events, then fails: streams end, polls throw", async () => {
  const limits = LIMITS as { watchedDirs: number };
  const { watchedDirs } = limits;
  limits.watchedDirs = 2;
  try {
    const { handlers, create } = setUp();
    const call = { username: "root", signal: new AbortController().signal } as RpcCall;
    const { watcherId } = await create(call.signal);
    const received: unknown[] = [];
    const streaming = (async () => {
      const stream = handlers.WatchDir.open({ path: dir, recursive: true, includeEntry: false, allowNetworkMounts: false }, call);
      for await (const message of stream) {
        received.push(message);
        if (received.length === 1) for (const name of ["one", "two"]) mkdirSync(join(dir, name));
      }
    })();
    await expect(streaming).rejects.toMatchObject({ code: "resource_exhausted", reason: "too_many_watches" });
    const sent = received.flatMap((message) => (message instanceof EncodedEnvelope ? namesIn(message.bytes) : []));
    expect(sent.slice(0, 2)).toEqual(["one", "two"]);
    expect(await handlers.GetWatcherEvents({ watcherId }, call)).toMatchObject({ events: [{ name: "one" }, { name: "two" }] });
    await expect(Promise.resolve(handlers.GetWatcherEvents({ watcherId }, call))).rejects.toMatchObject({ code: "resource_exhausted" });
    await handlers.RemoveWatcher({ watcherId }, call);
  } finally {
    limits.watchedDirs = watchedDirs;
  }
});
