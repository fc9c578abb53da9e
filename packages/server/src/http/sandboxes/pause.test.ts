import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { AppError, type SandboxId } from "@boxyard/core";
import { FakeWorld } from "@boxyard/driver/fake";
import { eventually } from "@boxyard/testkit";
import { JumpClock } from "../../testing/jump-clock.ts";
import { Place } from "../../testing/place.ts";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
let id: string;
beforeEach(async () => {
  s = await TestServer.start();
  id = (await s.create()).sandboxID;
});
afterEach(() => s[Symbol.asyncDispose]());

const post = (verb: string, body?: unknown, of = id) => s.call("POST", `/sandboxes/${of}/${verb}`, body);
const detail = async () => (await s.call("GET", `/sandboxes/${id}`)).body;
const listed = async (state: string) => (await s.call("GET", `/v2/sandboxes?state=${state}`)).body.length;
/** Waits until so many changes of the sandbox run or wait for their turn. */
const inQueue = (pieces: number) =>
  eventually(`${pieces} wait for their turns`, () => s.server.engine.sandboxes.find(id as SandboxId)?.queue.size === pieces);
const fake = () => {
  const sandbox = s.world.sandboxes.get(id);
  if (!sandbox) throw new Error("gone");
  return sandbox;
};

describe("pause", () => {
  test.each([
    [undefined, "full"],
    [{}, "full"],
    [{ memory: true }, "full"],
    [{ memory: false }, "filesystem"],
  ] as const)("with %j leaves the sandbox paused, with its token, and listed as paused", async (body, pauseMode) => {
    const before = await detail();
    const from = Date.now();
    expect((await post("pause", body)).status).toBe(204);
    const { endAt, ...after } = await detail();
    expect(after).toMatchObject({ state: "paused", pauseMode, envdAccessToken: before.envdAccessToken });
    expect(Date.parse(endAt)).toBeWithin(from, Date.now() + 1);
    expect([await listed("paused"), await listed("running"), await listed("running,paused")]).toEqual([1, 0, 1]);
    expect(fake().phase).toBe("paused");
  });

  test("by many at once happens once, and all are 204", async () => {
    const gate = s.world.faults.hold("pause");
    const asked = [{}, { memory: false }, {}, {}].map((body) => post("pause", body));
    await inQueue(4);
    gate.open();
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204]);
    expect([(await detail()).state, s.world.faults.calls.filter((verb) => verb === "pause")]).toEqual(["paused", ["pause"]]);
  });

  test("by many at once that fails is 503 for each, and the sandbox runs on", async () => {
    // The undo of the first pause waits for the second call.
    const gate = s.world.faults.hold("generation");
    for (let i = 0; i < 2; i++) s.world.faults.add("pause", { kind: "fail" });
    const asked = [post("pause", {}), post("pause", {})];
    await inQueue(2);
    gate.open();
    const answers = await Promise.all(asked);
    expect([answers.map(({ status }) => status), (await detail()).state]).toEqual([[503, 503], "running"]);
  });

  test("of a paused sandbox is 409; its timeout cannot be set (404), nor its network (409)", async () => {
    expect((await post("pause", {})).status).toBe(204);
    const message = `Error pausing sandbox - sandbox '${id}' is already paused`;
    expect(await post("pause", {})).toMatchObject({ status: 409, body: { code: 409, message } });
    expect((await post("timeout", { timeout: 10 })).status).toBe(404);
    expect((await s.call("PUT", `/sandboxes/${id}/network`, {})).status).toBe(409);
  });

  test("that fails in the driver is 503 with Should-Retry false, and the sandbox runs on with its commands", async () => {
    s.world.faults.add("pause", { kind: "fail" });
    const { status, headers, body } = await post("pause", {});
    expect([status, headers.get("should-retry")]).toEqual([503, "false"]);
    expect(body.message).toContain("could not be paused and runs on");
    expect([(await detail()).state, fake().agent?.areCommandsFrozen]).toEqual(["running", false]);
    expect((await post("pause", {})).status).toBe(204);
  });

  test("whose answer gets lost is finished", async () => {
    s.world.faults.add("pause", { kind: "fail", when: "after" });
    expect((await post("pause", {})).status).toBe(204);
    expect((await detail()).state).toBe("paused");
  });

  test("with memory, where the driver keeps disks only, is 503 with the reason, and the sandbox runs on", async () => {
    await using place = new Place();
    place.world.checkpoint = "disk";
    const other = await place.boot();
    const { sandboxID } = await other.create();
    const path = `/sandboxes/${sandboxID}`;
    const { status, headers, body } = await other.call("POST", `${path}/pause`, {});
    expect([status, headers.get("should-retry")]).toEqual([503, "false"]);
    expect(body.message).toContain("Memory cannot be kept here");
    expect((await other.call("GET", path)).body.state).toBe("running");
    expect((await other.call("POST", `${path}/pause`, { memory: false })).status).toBe(204);
  });

  test("does not prevent the removal of the sandbox and of all that was kept", async () => {
    await post("pause", {});
    expect((await s.call("DELETE", `/sandboxes/${id}`)).status).toBe(204);
    expect([s.world.sandboxes.size, (await s.call("GET", `/sandboxes/${id}`)).status]).toEqual([0, 404]);
    expect((await s.call("DELETE", `/sandboxes/${id}`)).status).toBe(404);
  });
});

describe("resume", () => {
  test("by connect is 201 for a paused sandbox, 200 for a running one; the lifetime is that of the call", async () => {
    await post("pause", {});
    const resumed = await s.call("POST", `/v2/sandboxes/${id}/connect`, { timeout: 1000 });
    expect([resumed.status, resumed.body.sandboxID, typeof resumed.body.envdAccessToken]).toEqual([201, id, "string"]);
    const { state, endAt, pauseMode } = await detail();
    expect([state, pauseMode]).toEqual(["running", undefined]);
    expect(Date.parse(endAt) - Date.now()).toBeGreaterThan(900_000);
    expect((await s.call("POST", `/sandboxes/${id}/connect`, { timeout: 5 })).status).toBe(200);
    await eventually("what was kept is gone", () => fake().generation === undefined);
  });

  test("by many at once happens once", async () => {
    await post("pause", {});
    const gate = s.world.faults.hold("resume");
    const asked = Array.from({ length: 8 }, () => s.call("POST", `/v2/sandboxes/${id}/connect`));
    await inQueue(8);
    gate.open();
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
    expect(s.world.faults.calls.filter((verb) => verb === "resume")).toHaveLength(1);
  });

  test("by many of the older calls at once happens once, and all are 201; the end is the latest that was asked for", async () => {
    await post("pause", {});
    const from = Date.now();
    const gate = s.world.faults.hold("resume");
    const asked = [100, 300, 200].map((timeout) => post("resume", { timeout }));
    await inQueue(3);
    gate.open();
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    const { state, endAt } = await detail();
    expect(state).toBe("running");
    expect(Date.parse(endAt)).toBeWithin(from + 300_000, Date.now() + 300_001);
  });

  test("by the older call is 201, and 409 for a running sandbox", async () => {
    expect(await post("resume", {})).toMatchObject({ status: 409, body: { message: `Sandbox ${id} is already running` } });
    await post("pause", {});
    expect((await post("resume")).status).toBe(201);
  });

  test("that fails leaves the sandbox paused, and can be tried again", async () => {
    await post("pause", {});
    for (const fault of [{ kind: "fail" }, { kind: "fail", when: "after" }] as const) {
      s.world.faults.add("resume", fault);
      const { status, headers } = await post("connect", { timeout: 60 });
      expect([status, headers.get("should-retry")]).toEqual([503, "false"]);
      expect([(await detail()).state, fake().phase]).toEqual(["paused", "paused"]);
    }
    expect((await post("connect", { timeout: 60 })).status).toBe(201);
  });

  test("tells the agent its environment again only when it boots", async () => {
    const env = { envVars: { MINE: "1" } };
    for (const [memory, expected] of [
      [true, undefined],
      [false, "1"],
    ] as const) {
      const { sandboxID } = await s.create(env);
      await post("pause", {}, sandboxID);
      expect((await post("connect", { timeout: 60, memory }, sandboxID)).status).toBe(201);
      const told = s.world.sandboxes.get(sandboxID)?.agent?.inits.at(-1) as { envVars?: Record<string, string> };
      expect(told.envVars?.MINE).toBe(expected as string);
    }
  });

  test("needs a place of BOXYARD_MAX_SANDBOXES; a paused sandbox holds none", async () => {
    await using small = await TestServer.start({ env: { BOXYARD_MAX_SANDBOXES: "1" } });
    const [first, create] = [(await small.create()).sandboxID, () => small.call("POST", "/v2/sandboxes", { templateID: "base" })];
    expect((await create()).status).toBe(429);
    expect((await small.call("POST", `/sandboxes/${first}/pause`, {})).status).toBe(204);
    const second = await create();
    expect(second.status).toBe(201);
    const connect = () => small.call("POST", `/v2/sandboxes/${first}/connect`, {});
    expect([(await connect()).status, (await small.call("GET", `/sandboxes/${first}`)).body.state]).toEqual([429, "paused"]);
    await small.call("DELETE", `/sandboxes/${second.body.sandboxID}`);
    expect((await connect()).status).toBe(201);
  });

  test("a connect during a pause waits for it, and resumes", async () => {
    const gate = s.world.faults.hold("pause");
    const pausing = post("pause", {});
    await eventually("it pauses", async () => (await detail()).state === "paused");
    const connecting = post("connect", { timeout: 60 });
    await inQueue(2);
    gate.open();
    expect((await connecting).status).toBe(201);
    expect((await pausing).status).toBe(204);
  });
});

describe("without room", () => {
  const roomy = new FakeWorld().capacity;
  /** The server caches the driver's capacity for a moment. */
  const fill = async () => {
    s.world.capacity = { ...roomy, memoryFreeBytes: 0 };
    await eventually("creates are refused", async () => (await s.call("POST", "/v2/sandboxes", { templateID: "base" })).status === 503);
  };
  const untouched = async () => {
    expect([(await detail()).state, fake().phase, s.world.faults.calls.includes("resume")]).toEqual(["paused", "paused", false]);
  };

  test.each([
    ["connect", { timeout: 60 }],
    ["resume", { timeout: 60 }],
  ])("a %s is refused as a create is, and the sandbox stays paused", async (verb, body) => {
    await post("pause", {});
    await fill();
    const refused = await post(verb, body);
    expect([refused.status, refused.headers.get("retry-after"), refused.body.error_code]).toEqual([
      503,
      "5",
      "sandbox_capacity_unavailable",
    ]);
    expect(refused.body.message).toContain("BOXYARD_RESERVE_MEMORY");
    await untouched();
    s.world.capacity = roomy;
    await eventually("there is room again", async () => (await post(verb, body)).status === 201);
  });

  test("a resume must find what its image holds, not only what any start takes", async () => {
    s.world.keptMemoryBytes = 512 << 20;
    await post("pause", {});
    s.world.keptMemoryBytes = 1 << 20;
    await fill();
    s.world.capacity = { ...roomy, memoryFreeBytes: 400 << 20 };
    await eventually(
      "there is room for a start",
      async () => (await s.call("POST", "/v2/sandboxes", { templateID: "base" })).status === 201,
    );
    expect((await post("resume", { timeout: 60 })).body.error_code).toBe("sandbox_capacity_unavailable");
    await untouched();
    s.world.capacity = roomy;
    await eventually("there is room again", async () => (await post("resume", { timeout: 60 })).status === 201);
  });

  test("a request that would wake it is 503 with Retry-After", async () => {
    id = (await s.create({ autoPause: true, autoResume: { enabled: true } })).sandboxID;
    await post("pause", {});
    await fill();
    const ask = () => fetch(`${s.url}/echo`, { headers: { "Svc-Sandbox-Id": id, "Svc-Sandbox-Port": "8000" } });
    for (const answer of await Promise.all([ask(), ask()])) {
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(await answer.json()).toMatchObject({ code: 503, error_code: "sandbox_capacity_unavailable", sandboxID: id });
    }
    await untouched();
    s.world.capacity = roomy;
    await eventually("it is woken", async () => (await ask()).status !== 503);
    expect((await detail()).state).toBe("running");
  });

  test("while the largest number of sandboxes run, a request that would wake it is answered with 429 and Retry-After", async () => {
    await using small = await TestServer.start({ env: { BOXYARD_MAX_SANDBOXES: "1" } });
    const { sandboxID } = await small.create({ autoPause: true, autoResume: { enabled: true } });
    await small.call("POST", `/sandboxes/${sandboxID}/pause`, {});
    const other = await small.create();
    const ask = () => fetch(`${small.url}/echo`, { headers: { "Svc-Sandbox-Id": sandboxID, "Svc-Sandbox-Port": "8000" } });
    const state = async () => (await small.call("GET", `/sandboxes/${sandboxID}`)).body.state;
    const answer = await ask();
    expect([answer.status, answer.headers.get("retry-after"), await state()]).toEqual([429, "5", "paused"]);
    const message = "The sandbox is paused, and there is no room to resume it now";
    expect(await answer.json()).toEqual({ code: 429, message, sandboxID, sandboxId: sandboxID });
    expect((await small.call("DELETE", `/sandboxes/${other.sandboxID}`)).status).toBe(204);
    expect([(await ask()).status === 429, await state()]).toEqual([false, "running"]);
    expect((await small.call("POST", "/v2/sandboxes", { templateID: "base" })).status).toBe(429);
  });

  test("the limit of the memory of all sandboxes does not refuse a resume: a paused sandbox is already counted", async () => {
    await post("pause", {});
    s.world.capacity = { ...roomy, memoryLimitBytes: 1 };
    await eventually("creates are refused", async () => (await s.call("POST", "/v2/sandboxes", { templateID: "base" })).status === 503);
    expect((await post("connect", { timeout: 60 })).status).toBe(201);
  });
});

describe("the end of its time", () => {
  const expire = async (body: Record<string, unknown>) => {
    id = (await s.create(body)).sandboxID;
    await post("timeout", { timeout: 0 });
  };

  test.each([
    [{ autoPause: true }, "full"],
    [{ autoPause: true, autoPauseMemory: false }, "filesystem"],
  ] as const)("with %j pauses it, each time", async (body, pauseMode) => {
    await expire(body);
    // While the pause is under way, the state is `paused` already, and there is no `pauseMode`.
    await eventually("it is paused", async () => (await detail()).pauseMode !== undefined);
    expect(await detail()).toMatchObject({ pauseMode, lifecycle: { onTimeout: "pause", autoResume: false } });
    await post("connect", { timeout: 60 });
    await post("timeout", { timeout: 0 });
    await eventually("it is paused again", async () => (await detail()).state === "paused");
  });

  test("never kills a sandbox that could not be paused", async () => {
    id = (await s.create({ autoPause: true })).sandboxID;
    s.world.faults.add("pause", { kind: "fail" });
    await post("timeout", { timeout: 0 });
    await eventually("the pause has failed", () => s.world.faults.calls.includes("pause"));
    await eventually("it runs on", async () => (await detail()).state === "running");
    const record = s.server.engine.sandboxes.find(id as SandboxId)?.record;
    expect((record?.endAt ?? 0) - Date.now()).toBeGreaterThan(10_000);
  });
});

describe("the end of its time, with a pause that is refused", () => {
  const refused = () => new AppError("failed_precondition", "a process is traced", { reason: "checkpoint_refused" });
  const linesOf = async () =>
    ((await s.call("GET", `/v2/sandboxes/${id}/logs`)).body.logs as { fields: { event: string }; message: string }[]).map(
      ({ fields, message }) => [fields.event, message] as const,
    );
  const pauses = () => s.world.faults.calls.filter((verb) => verb === "pause").length;

  test("keeps the disk alone, and its log says why", async () => {
    id = (await s.create({ autoPause: true })).sandboxID;
    s.world.faults.add("pause", { kind: "fail", error: refused() });
    await post("timeout", { timeout: 0 });
    await eventually("it is paused", async () => (await detail()).pauseMode === "filesystem");
    expect(pauses()).toBe(2);
    const message = "Its time was up and its memory could not be kept, so only its disk was: a process is traced";
    await eventually("its log says so", async () =>
      (await linesOf()).some(([event, text]) => event === "memory_not_kept" && text === message),
    );
    expect((await post("connect", { timeout: 60 })).status).toBe(201);
  });

  test("keeps the disk alone also when its agent hangs", async () => {
    await using own = await TestServer.start({ agentLimitMs: 200 });
    const { sandboxID } = await own.create({ autoPause: true, autoPauseMemory: false });
    own.world.sandboxes.get(sandboxID)?.agent?.freeze();
    await own.call("POST", `/sandboxes/${sandboxID}/timeout`, { timeout: 0 });
    await eventually("it is paused", async () => (await own.call("GET", `/sandboxes/${sandboxID}`)).body.pauseMode === "filesystem");
  });

  test("and a disk that cannot be kept: is tried a few times, then the sandbox is ended with that reason", async () => {
    const clock = new JumpClock();
    await using own = await TestServer.start({ clock });
    const { sandboxID } = await own.create({ autoPause: true });
    own.world.faults.add("pause", { kind: "fail", times: 1000 });
    const calls = () => own.world.faults.calls.filter((verb) => verb === "pause").length;
    const endAt = () => own.server.engine.sandboxes.find(sandboxID as SandboxId)?.record.endAt;
    const from = clock.now();
    await own.call("POST", `/sandboxes/${sandboxID}/timeout`, { timeout: 0 });
    for (let last = from; endAt() !== undefined; ) {
      const seen = last;
      await eventually("its end moves, or it ends", () => endAt() === undefined || (endAt() as number) > seen + 10_000);
      last = endAt() ?? last;
      clock.jump(31_000);
    }
    expect(clock.now() - from).toBeLessThan(15 * 60_000);
    // Two with memory alone, then both each time.
    expect(calls()).toBe(2 + 2 * 8);
    const isLogged = async () => {
      const { logs } = (await own.call("GET", `/v2/sandboxes/${sandboxID}/logs`)).body;
      return logs.some(({ fields }: { fields: Record<string, string> }) => fields.event === "ended" && fields.cause === "pause_failed");
    };
    await eventually("its log says why it ended", isLogged);
  }, 40_000);
});

describe("a request to a paused sandbox", () => {
  const AGENT = 49_983;
  const ask = (port: number, headers: Record<string, string> = {}, init: RequestInit = {}) =>
    fetch(`${s.url}/echo`, { ...init, headers: { "Svc-Sandbox-Id": id, "Svc-Sandbox-Port": String(port), ...headers } });
  const token = async () => ({ "X-Access-Token": (await detail()).envdAccessToken as string });
  const resumes = () => s.world.faults.calls.filter((verb) => verb === "resume").length;

  test("with autoResume resumes it once for all who wait, and is answered as if it had run", async () => {
    id = (await s.create({ autoPause: true, autoResume: { enabled: true } })).sandboxID;
    expect((await detail()).lifecycle).toEqual({ onTimeout: "pause", autoResume: true });
    await post("pause", {});
    const headers = await token();
    const gate = s.world.faults.hold("resume");
    const bodies = Array.from({ length: 6 }, (_, i) => `body ${i}`.repeat(20_000));
    const asked = bodies.map((body) => ask(AGENT, headers, { method: "POST", body }));
    await eventually("it resumes", () => gate.reached === 1);
    gate.open();
    const answers = await Promise.all(asked);
    expect(await Promise.all(answers.map((answer) => answer.text()))).toEqual(bodies);
    expect([resumes(), (await detail()).state]).toEqual([1, "running"]);
    expect(Date.parse((await detail()).endAt) - Date.now()).toBeGreaterThan(290_000);
  });

  test("is checked before anything is resumed", async () => {
    const body = { autoPause: true, autoResume: { enabled: true }, network: { allowPublicTraffic: false } };
    id = (await s.create(body)).sandboxID;
    await post("pause", {});
    const wrong = [ask(AGENT), ask(AGENT, { "X-Access-Token": "no" }), ask(8000), ask(8000, { "e2b-traffic-access-token": "no" })];
    expect((await Promise.all(wrong)).map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect((await fetch(`${s.url}/init`, { headers: { "Svc-Sandbox-Id": id, "Svc-Sandbox-Port": "49983" } })).status).toBe(404);
    expect([resumes(), (await detail()).state]).toEqual([0, "paused"]);
  });

  test.each([
    [{ autoPause: true }, {}],
    [{ autoPause: true, autoResume: { enabled: true } }, { memory: false }],
  ])("of a sandbox with %j that was paused by %j is 502, and resumes nothing", async (body, how) => {
    id = (await s.create(body)).sandboxID;
    await post("pause", how);
    expect([(await ask(AGENT, await token())).status, resumes()]).toEqual([502, 0]);
  });

  test("is 502 when the sandbox cannot be resumed, and the next request tries again", async () => {
    id = (await s.create({ autoPause: true, autoResume: { enabled: true } })).sandboxID;
    await post("pause", {});
    s.world.faults.add("resume", { kind: "fail" });
    expect((await ask(AGENT, await token())).status).toBe(502);
    expect((await detail()).state).toBe("paused");
    expect((await ask(AGENT, await token())).status).toBe(200);
  });
});
