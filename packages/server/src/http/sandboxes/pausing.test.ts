import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { eventually, staysTrueFor } from "@boxyard/testkit";
import type { Sandbox } from "../../sandboxes/engine/sandbox.ts";
import { pause } from "../../sandboxes/transitions/pause.ts";
import { resume } from "../../sandboxes/transitions/resume.ts";
import { TestServer } from "../../testing/test-server.ts";

/* The answers to every request while a pause is under way. The pause is held before the driver keeps anything. */

const AGENT = 49_983;

let s: TestServer;
let id: string;
let gate: PromiseWithResolvers<void>;
let isHeld: boolean;

beforeEach(async () => {
  isHeld = false;
  gate = Promise.withResolvers();
  const before = (point: string) => {
    if (point !== "pause keep" || isHeld) return undefined;
    isHeld = true;
    return gate.promise;
  };
  s = await TestServer.start({ observer: { before } });
});
afterEach(async () => {
  gate.resolve();
  await s[Symbol.asyncDispose]();
});

const post = (verb: string, body?: unknown) => s.call("POST", `/sandboxes/${id}/${verb}`, body);
const detail = async () => (await s.call("GET", `/sandboxes/${id}`)).body;
const stateOf = () => s.server.engine.sandboxes.find(id as never)?.state;

/** A sandbox that is being paused, and what its pause will be answered. */
async function pausing(create: Record<string, unknown> = {}, how: Record<string, unknown> = {}) {
  id = (await s.create(create)).sandboxID;
  const paused = post("pause", how);
  await eventually("the pause is under way", () => isHeld);
  expect(stateOf()).toBe("pausing");
  return { paused };
}
const WAKES = { autoPause: true, autoResume: { enabled: true } };

/** True once the promise has settled. */
function watched<T>(promise: Promise<T>): () => boolean {
  let isSettled = false;
  const settle = () => {
    isSettled = true;
  };
  promise.then(settle, settle);
  return () => isSettled;
}

const waits = (what: string, promise: Promise<unknown>) => {
  const isSettled = watched(promise);
  return staysTrueFor(100, `${what} waits`, () => !isSettled());
};

describe("the platform API while a pause is under way", () => {
  test("shows it as paused with its end unchanged, and `pauseMode` only once the pause has ended", async () => {
    id = (await s.create()).sandboxID;
    const { endAt } = await detail();
    const answer = post("pause", { memory: false });
    await eventually("the pause is under way", () => isHeld);
    const shown = await detail();
    expect([shown.state, shown.endAt, "pauseMode" in shown]).toEqual(["paused", endAt, false]);
    const listed = await s.call("GET", "/v2/sandboxes?state=running");
    expect([listed.body, listed.headers.get("x-total-running")]).toEqual([[], "0"]);
    expect((await s.call("GET", "/v2/sandboxes?state=paused")).body).toMatchObject([{ sandboxID: id, state: "paused" }]);
    expect((await s.call("GET", "/sandboxes")).body).toEqual([]);
    gate.resolve();
    expect((await answer).status).toBe(204);
    expect((await detail()).pauseMode).toBe("filesystem");
  });

  test.each([
    ["connect", { timeout: 60 }],
    ["resume", { timeout: 60 }],
  ])("a %s waits for it, and then resumes", async (verb, body) => {
    const { paused } = await pausing();
    const resumed = post(verb, body);
    await waits(verb, resumed);
    gate.resolve();
    expect([(await paused).status, (await resumed).status, (await detail()).state]).toEqual([204, 201, "running"]);
  });

  test("when the pause fails, a connect and a resume find it running", async () => {
    s.world.faults.add("pause", { kind: "fail" });
    const { paused } = await pausing();
    const [connected, resumed] = [post("connect", { timeout: 60 }), post("resume", {})];
    await waits("the connect", Promise.race([connected, resumed]));
    gate.resolve();
    expect([(await paused).status, (await connected).status, (await resumed).status]).toEqual([503, 200, 201]);
    expect(s.world.faults.calls).not.toContain("resume");
  });

  test.each([
    ["POST", "timeout", { timeout: 60 }],
    ["POST", "refreshes", { duration: 60 }],
    ["POST", "snapshots", {}],
    ["POST", "fork", { count: 1 }],
    ["PUT", "network", {}],
  ])("%s %s waits for it, and is refused because of it", async (method, verb, body) => {
    const { paused } = await pausing();
    const other = s.call(method, `/sandboxes/${id}/${verb}`, body);
    await waits(verb, other);
    gate.resolve();
    expect([(await paused).status, (await other).status, (await detail()).state]).toEqual([204, 409, "paused"]);
  });

  test("a removal aborts it", async () => {
    const { paused } = await pausing();
    const removed = s.call("DELETE", `/sandboxes/${id}`);
    await eventually("it is to end", () => s.server.engine.sandboxes.find(id as never)?.interrupted.aborted === true);
    gate.resolve();
    expect([(await removed).status, (await s.call("GET", `/sandboxes/${id}`)).status, s.world.sandboxes.size]).toEqual([204, 404, 0]);
    expect((await paused).status).toBe(409);
  });
});

describe("a request to the sandbox while a pause is under way", () => {
  const ask = (port: number, headers: Record<string, string> = {}, init: RequestInit = {}) =>
    fetch(`${s.url}/echo`, { ...init, headers: { "Svc-Sandbox-Id": id, "Svc-Sandbox-Port": String(port), ...headers } });
  const token = async () => ({ "X-Access-Token": (await detail()).envdAccessToken as string });

  test("that does not wake it is 502 as if it was paused, and reaches it once the pause has failed", async () => {
    s.world.faults.add("pause", { kind: "fail" });
    const { paused } = await pausing();
    for (const port of [AGENT, 8000]) {
      const answer = await ask(port, await token());
      expect([answer.status, await answer.json()]).toMatchObject([502, { code: 502, sandboxId: id, message: "The sandbox was not found" }]);
    }
    gate.resolve();
    expect((await paused).status).toBe(503);
    expect((await ask(AGENT, await token())).status).toBe(200);
  });

  test("that does not wake it is 502 while it is being paused without memory, and after it", async () => {
    const { paused } = await pausing(WAKES, { memory: false });
    expect((await ask(AGENT, await token())).status).toBe(502);
    gate.resolve();
    expect((await paused).status).toBe(204);
    expect((await ask(AGENT, await token())).status).toBe(502);
  });

  test("that wakes it waits for the pause, with its body, and one resume is for all who wait", async () => {
    const { paused } = await pausing(WAKES);
    const headers = await token();
    const bodies = Array.from({ length: 4 }, (_, i) => `body ${i}`.repeat(20_000));
    const answers = Promise.all(bodies.map((body) => ask(AGENT, headers, { method: "POST", body })));
    await waits("each", answers);
    expect([stateOf(), s.world.faults.calls.includes("resume")]).toEqual(["pausing", false]);
    gate.resolve();
    expect((await paused).status).toBe(204);
    expect(await Promise.all((await answers).map((answer) => answer.text()))).toEqual(bodies);
    expect([stateOf(), s.world.faults.calls.filter((call) => call === "resume").length]).toEqual(["running", 1]);
  });

  test("that would wake it reaches the sandbox, which runs on, when the pause fails", async () => {
    s.world.faults.add("pause", { kind: "fail" });
    const { paused } = await pausing(WAKES);
    const answer = ask(AGENT, await token());
    await waits("it", answer);
    gate.resolve();
    expect([(await paused).status, (await answer).status, s.world.faults.calls.includes("resume")]).toEqual([503, 200, false]);
    expect((await ask(AGENT, await token())).status).toBe(200);
  });

  test("that would wake it boots nothing when the sandbox was paused without memory before the turn of the wake", async () => {
    const { paused } = await pausing(WAKES);
    const { engine, routes } = s.server;
    const sandbox = engine.sandboxes.find(id as never) as Sandbox;
    const sleeper = routes.findSleeper(id);
    const turns = [engine.run(sandbox, resume, { timeoutMs: 60_000, memory: true }), engine.run(sandbox, pause, { memory: false })];
    const woken = sleeper?.wake();
    gate.resolve();
    expect((await paused).status).toBe(204);
    await Promise.all([...turns, woken]);
    expect([stateOf(), s.world.faults.calls.filter((call) => call === "resume").length]).toEqual(["paused", 1]);
    expect((await ask(AGENT, await token())).status).toBe(502);
  });

  test("that would wake it is checked at once", async () => {
    const { paused } = await pausing({ ...WAKES, network: { allowPublicTraffic: false } });
    expect((await Promise.all([ask(AGENT), ask(8000)])).map(({ status }) => status)).toEqual([403, 403]);
    gate.resolve();
    expect([(await paused).status, stateOf()]).toEqual([204, "paused"]);
  });
});

test("a request that does not wake it is 409 while another client resumes it, and reaches it then", async () => {
  const resuming = Promise.withResolvers<void>();
  const before = (point: string) => (point === "resume start" ? resuming.promise : undefined);
  await using server = await TestServer.start({ observer: { before } });
  const { sandboxID, envdAccessToken } = await server.create();
  expect((await server.call("POST", `/sandboxes/${sandboxID}/pause`, {})).status).toBe(204);
  const headers = { "Svc-Sandbox-Id": sandboxID, "Svc-Sandbox-Port": String(AGENT), "X-Access-Token": envdAccessToken };
  const health = async () => (await fetch(`${server.url}/health`, { headers })).status;
  expect(await health()).toBe(502);
  const resumed = server.call("POST", `/sandboxes/${sandboxID}/connect`, { timeout: 60 });
  const state = () => server.server.engine.sandboxes.find(sandboxID as never)?.state;
  await eventually("the resume is under way", () => state() === "resuming");
  expect(await health()).toBe(409);
  resuming.resolve();
  expect((await resumed).status).toBe(201);
  expect(await health()).toBe(204);
});
