import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { FakeClock } from "@boxyard/core";
import type { FakeAgent } from "@boxyard/driver/fake";
import { eventually } from "@boxyard/testkit";
import { TestServer } from "../../testing/test-server.ts";
import type { Sandbox } from "../engine/sandbox.ts";
import { MISSES } from "./liveness.ts";

// No round of its own: the tests make them.
const never = { BOXYARD_PROBE_SECONDS: "0" };
/** Limit of an answer, by the clock of the server. */
const LIMIT_MS = 1_000;
setDefaultTimeout(60_000);
let clock: FakeClock;
let s: TestServer;
beforeEach(async () => {
  clock = new FakeClock(Date.now());
  s = await TestServer.start({ env: never, agentLimitMs: LIMIT_MS, clock });
});
afterEach(() => s[Symbol.asyncDispose]());

async function rounds(server: TestServer, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await server.server.liveness.once();
}

/** Waits for work during which a frozen agent is asked. The clock moves on by the limit of an answer whenever a question has come. */
async function passing<T>(agent: FakeAgent | undefined, work: Promise<T>): Promise<T> {
  let isDone = false;
  let seen = agent?.unanswered ?? 0;
  void work
    .catch(() => {})
    .then(() => {
      isDone = true;
    });
  await eventually("the work ends", async () => {
    if (agent && agent.unanswered > seen) {
      seen += 1;
      await clock.advance(LIMIT_MS);
    }
    return isDone;
  });
  return work;
}

/** The health in a fresh sample; both endpoints of metrics must say the same. */
async function newestHealthOf(id: string): Promise<unknown> {
  await s.server.sampler.once();
  const { sandboxes } = (await s.call("GET", `/sandboxes/metrics?sandbox_ids=${id}`)).body;
  const own = (await s.call("GET", `/sandboxes/${id}/metrics`)).body;
  expect(own.at(-1)).toEqual(sandboxes[id]);
  return own.at(-1).health;
}

/** From now on the agent of the sandbox fails its health check, at once. */
function failOf(server: TestServer, id: string) {
  const agent = server.world.sandboxes.get(id)?.agent;
  if (!agent) throw new Error("no agent");
  agent.isHealthy = false;
  return agent;
}

const healthOf = async (id: string) => (await s.call("GET", `/sandboxes/${id}`)).body.health;

test("an agent that hangs is shown after three questions and can be killed; an agent that answers again is not shown any more", async () => {
  const { sandboxID } = await s.create();
  const agent = s.world.sandboxes.get(sandboxID)?.agent;
  await rounds(s, MISSES);
  expect(await healthOf(sandboxID)).toBeUndefined();
  agent?.freeze();
  await passing(agent, rounds(s, MISSES - 1));
  expect(await healthOf(sandboxID)).toBeUndefined();
  await passing(agent, rounds(s, 1));
  expect(await healthOf(sandboxID)).toBe("unresponsive");
  expect(await newestHealthOf(sandboxID)).toBe("unresponsive");
  const { logEntries } = (await s.call("GET", `/sandboxes/${sandboxID}/logs`)).body;
  expect(logEntries.at(-1)).toMatchObject({ level: "error", fields: { event: "unresponsive" } });
  agent?.thaw();
  await rounds(s, 1);
  expect(await healthOf(sandboxID)).toBeUndefined();
  expect(await newestHealthOf(sandboxID)).toBeUndefined();
  agent?.freeze();
  await passing(agent, rounds(s, MISSES));
  expect((await s.call("DELETE", `/sandboxes/${sandboxID}`)).status).toBe(204);
});

test("answers that went through the proxy are a sign of life: the agent is not asked", async () => {
  const { sandboxID, envdAccessToken } = await s.create();
  const agent = s.world.sandboxes.get(sandboxID)?.agent;
  const headers = { "Svc-Sandbox-Id": sandboxID, "Svc-Sandbox-Port": "49983", "X-Access-Token": envdAccessToken };
  for (let round = 0; round < MISSES + 1; round++) {
    expect((await fetch(`${s.url}/metrics`, { headers })).status).toBe(200);
    agent?.freeze();
    await rounds(s, 1);
    agent?.thaw();
  }
  expect(await healthOf(sandboxID)).toBeUndefined();
});

test("with the policy kill the sandbox is removed", async () => {
  await using strict = await TestServer.start({ env: { ...never, BOXYARD_ON_UNRESPONSIVE: "kill" }, agentLimitMs: LIMIT_MS, clock });
  const { sandboxID } = await strict.create();
  failOf(strict, sandboxID);
  await rounds(strict, MISSES);
  await eventually("it is removed", () => strict.world.sandboxes.size === 0);
  expect((await strict.call("GET", `/sandboxes/${sandboxID}`)).status).toBe(404);
});

describe("with the policy restart", () => {
  let strict: TestServer;
  beforeEach(async () => {
    strict = await TestServer.start({ env: { ...never, BOXYARD_ON_UNRESPONSIVE: "restart" }, agentLimitMs: LIMIT_MS, clock });
  });
  afterEach(() => strict[Symbol.asyncDispose]());

  const sandboxOf = (id: string) => strict.world.sandboxes.get(id);
  const detailOf = async (id: string) => (await strict.call("GET", `/sandboxes/${id}`)).body;
  const lastEvents = async (id: string) =>
    (await strict.call("GET", `/sandboxes/${id}/logs`)).body.logEntries.map(({ fields }: { fields: { event: string } }) => fields.event);
  /** Waits until the last line of the sandbox's log has this event. */
  const lastEvent = (id: string, event: string) =>
    eventually(`the last line is ${event}`, async () => (await lastEvents(id)).at(-1) === event);
  const engineOf = (id: string) => {
    const { engine } = strict.server;
    return { engine, sandbox: engine.sandboxes.find(id as never) as Sandbox };
  };
  /** Holds the sandbox's turn until the returned promise is resolved. */
  const holdTurn = (id: string) => {
    const { engine, sandbox } = engineOf(id);
    const gate = Promise.withResolvers<void>();
    void engine.inTurn(sandbox, () => gate.promise);
    return gate;
  };
  const agentStatus = async (id: string, token: string) =>
    (await fetch(`${strict.url}/metrics`, { headers: { "Svc-Sandbox-Id": id, "Svc-Sandbox-Port": "49983", "X-Access-Token": token } }))
      .status;

  test("the sandbox boots anew from its disk, with its id, token, metadata and time", async () => {
    const made = await strict.create({ metadata: { kept: "yes" }, timeout: 1000 });
    const { sandboxID: id } = made;
    const before = await detailOf(id);
    sandboxOf(id)?.files.set("/kept", "yes");
    const agent = sandboxOf(id)?.agent;
    agent?.freeze();
    const frozenAt = clock.now();
    await passing(agent, rounds(strict, MISSES));
    await passing(agent, lastEvent(id, "booted_anew"));
    const { startedAt: _, endAt, ...same } = before;
    const after = await detailOf(id);
    expect(after).toMatchObject(same);
    expect(after.health).toBeUndefined();
    // The rest of its lifetime, from when the boot began.
    expect(Date.parse(after.endAt)).toBeGreaterThanOrEqual(Date.parse(endAt));
    expect(Date.parse(after.endAt) - Date.parse(after.startedAt)).toBeLessThanOrEqual(Date.parse(endAt) - frozenAt);
    expect(sandboxOf(id)?.agent).not.toBe(agent);
    expect(sandboxOf(id)?.handle.incarnation).toBe(2);
    expect(sandboxOf(id)?.files.get("/kept")).toBe("yes");
    expect(await agentStatus(id, made.envdAccessToken)).toBe(200);
    expect(await lastEvents(id)).toEqual(["started", "unresponsive", "booted_anew"]);
    await rounds(strict, MISSES);
    expect(sandboxOf(id)?.handle.incarnation).toBe(2);
  });

  test("a sandbox whose pause fails runs on, and the restart is tried again after three more questions", async () => {
    const { sandboxID: id } = await strict.create();
    failOf(strict, id);
    strict.world.faults.add("pause", { kind: "fail" });
    await rounds(strict, MISSES);
    await lastEvent(id, "boot_anew_failed");
    expect(await detailOf(id)).toMatchObject({ state: "running", health: "unresponsive" });
    await rounds(strict, MISSES);
    await lastEvent(id, "booted_anew");
    expect((await lastEvents(id)).filter((event: string) => event === "unresponsive")).toHaveLength(1);
  });

  test("a sandbox that does not boot is paused with its disk, and a later connect resumes it", async () => {
    const { sandboxID: id } = await strict.create();
    failOf(strict, id);
    for (const _ of [1, 2]) strict.world.faults.add("resume", { kind: "fail" });
    await rounds(strict, MISSES);
    await lastEvent(id, "boot_anew_failed");
    expect((await detailOf(id)).state).toBe("paused");
    expect((await strict.call("POST", `/v2/sandboxes/${id}/connect`, { timeout: 60 })).status).toBe(201);
    expect((await detailOf(id)).state).toBe("running");
  });

  test("a boot that fails once is tried again at once", async () => {
    const { sandboxID: id } = await strict.create();
    failOf(strict, id);
    strict.world.faults.add("resume", { kind: "fail" });
    await rounds(strict, MISSES);
    await lastEvent(id, "booted_anew");
    expect((await detailOf(id)).state).toBe("running");
  });

  test("a boot that takes long stops neither the rounds nor the server's end, after which no second boot is tried", async () => {
    const [{ sandboxID: id }, { sandboxID: other }] = [await strict.create(), await strict.create()];
    failOf(strict, id);
    strict.world.faults.add("resume", { kind: "hang" });
    await rounds(strict, MISSES);
    await eventually("it boots", () => strict.world.faults.calls.includes("resume"));
    // Requests during the boot get 409, not 404.
    const { envdAccessToken } = await detailOf(id);
    expect(await agentStatus(id, envdAccessToken)).toBe(409);
    strict.world.faults.add("pause", { kind: "fail" });
    failOf(strict, other);
    await rounds(strict, MISSES);
    await lastEvent(other, "boot_anew_failed");
    const stopped = strict.server.liveness.stop();
    let isStopped = false;
    void stopped.then(() => {
      isStopped = true;
    });
    await eventually("it stops, five seconds later", async () => {
      await clock.advance(LIMIT_MS);
      return isStopped;
    });
    strict.world.faults.clear();
    const { engine, sandbox } = engineOf(id);
    await engine.inTurn(sandbox, async () => {});
    expect([sandbox.state, strict.world.faults.calls.filter((call) => call === "resume").length]).toEqual(["paused", 1]);
  });

  test("a sandbox whose agent answers again before its turn is not restarted", async () => {
    const { sandboxID: id } = await strict.create();
    const turn = holdTurn(id);
    const agent = failOf(strict, id);
    await rounds(strict, MISSES);
    expect((await detailOf(id)).health).toBe("unresponsive");
    agent.isHealthy = true;
    turn.resolve();
    const { engine, sandbox } = engineOf(id);
    await engine.inTurn(sandbox, async () => {});
    expect([sandbox.state, sandboxOf(id)?.handle.incarnation, strict.world.faults.calls.includes("pause")]).toEqual(["running", 1, false]);
  });

  test("no restart begins once the server ends", async () => {
    const { sandboxID: id } = await strict.create();
    const turn = holdTurn(id);
    failOf(strict, id);
    await rounds(strict, MISSES);
    const stopped = strict.server.liveness.stop();
    turn.resolve();
    await stopped;
    expect([engineOf(id).sandbox.state, strict.world.faults.calls.includes("pause")]).toEqual(["running", false]);
  });
});
