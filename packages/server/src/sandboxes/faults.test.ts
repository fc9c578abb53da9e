import { describe, expect, test } from "bun:test";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { createLogger } from "@boxyard/core/node";
import { FakeWorld, type InitManner } from "@boxyard/driver/fake";
import { eventually } from "@boxyard/testkit";
import type { SandboxRecord } from "../store/index.ts";
import { JumpClock } from "../testing/jump-clock.ts";
import { TestServer } from "../testing/test-server.ts";

const nothingLeft = async (s: TestServer) => {
  expect([...s.world.sandboxes.keys()]).toEqual([]);
  expect(s.server.engine.sandboxes.all()).toEqual([]);
  expect((await s.call("GET", "/sandboxes")).body).toEqual([]);
};

const exhausted = new AppError("resource_exhausted", "no memory");
const late = new AppError("deadline_exceeded", "too slow");

describe("a create that fails leaves nothing", () => {
  test.each([
    ["create", "before", undefined, 500, "sandbox_create_failed"],
    ["create", "after", undefined, 500, "sandbox_create_failed"],
    ["start", "before", undefined, 500, "sandbox_create_failed"],
    ["start", "after", undefined, 500, "sandbox_create_failed"],
    ["address", "before", undefined, 500, "sandbox_create_failed"],
    ["create", "before", exhausted, 503, "sandbox_capacity_unavailable"],
    ["create", "after", Object.assign(new Error("spawn"), { code: "EAGAIN" }), 503, "sandbox_create_failed"],
    ["start", "before", new Error("mount", { cause: Object.assign(new Error("busy"), { code: "EBUSY" }) }), 503, "sandbox_create_failed"],
    ["start", "before", new AppError("aborted", "another was first"), 503, "sandbox_create_failed"],
    ["start", "after", late, 504, "sandbox_placement_timeout"],
  ] as const)("when %s fails %s the deed", async (verb, when, error, status, code) => {
    await using s = await TestServer.start();
    s.world.faults.add(verb, { kind: "fail", when, ...(error ? { error } : {}) });
    const reply = await s.call("POST", "/v2/sandboxes", { templateID: "base" });
    expect([reply.status, reply.body.error_code]).toEqual([status, code]);
    expect(reply.headers.get("retry-after")).toBe(status === 503 ? "2" : null);
    await nothingLeft(s);
    expect((await s.create()).sandboxID).toBeString();
  });

  test("a fault of the server names the request's id, and the log has the same id", async () => {
    const directory = await mkdtemp(join(tmpdir(), "boxyard-log-"));
    await using _ = { [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) };
    const file = join(directory, "server.log");
    await using s = await TestServer.start({ logger: createLogger("test", { level: "error", file }) });
    s.world.faults.add("create", { kind: "fail" });
    const reply = await s.call("POST", "/v2/sandboxes", { templateID: "base" }, { "X-Request-Id": "forged" });
    const id = reply.headers.get("x-request-id") ?? "";
    expect([reply.status, reply.body.message]).toEqual([500, expect.stringContaining(`(request ${id})`)]);
    const lines = (await readFile(file, "utf8")).trim().split("\n");
    expect(lines.map((line) => JSON.parse(line).requestId)).toEqual([id]);
  });

  test("when the driver has no such image", async () => {
    await using s = await TestServer.start();
    s.world.images.add("sha256:other");
    expect((await s.call("POST", "/sandboxes", { templateID: "base" })).status).toBe(404);
    await nothingLeft(s);
  });

  // The server gives up after a refusal; it tries anything else again until the limit.
  test.each([
    ["refuse", 500],
    ["error", 504],
    ["garbage", 504],
    ["disconnect", 504],
    ["huge", 504],
    ["hang", 504],
  ] satisfies [InitManner, number][])("when the agent answers /init in the manner '%s': %d", async (manner, status) => {
    // Far below the usual limit. A refusal must come before the limit on a slow machine too.
    await using s = await TestServer.start({ agentLimitMs: manner === "refuse" ? 10_000 : 500 });
    s.world.initManner = manner;
    const reply = await s.call("POST", "/v2/sandboxes", { templateID: "base" });
    expect(reply.status).toBe(status);
    await nothingLeft(s);
  });

  // The rest cannot be seen or used, so the answer depends on the first cause alone.
  test.each([
    ["fault of the server", undefined, 500, "sandbox_create_failed", null],
    ["lack of room", exhausted, 503, "sandbox_capacity_unavailable", "5"],
    ["delay", late, 504, "sandbox_placement_timeout", null],
  ] as const)("even when removing it fails at first (%s)", async (_what, error, status, code, retryAfter) => {
    await using s = await TestServer.start();
    s.world.faults.add("start", { kind: "fail", when: "before", ...(error ? { error } : {}) });
    s.world.faults.add("destroy", { kind: "fail" });
    const reply = await s.call("POST", "/sandboxes", { templateID: "base" });
    expect([reply.status, reply.body.error_code, reply.headers.get("retry-after")]).toEqual([status, code, retryAfter]);
    expect((await s.call("GET", "/sandboxes")).body).toEqual([]);
    const [left] = s.server.engine.sandboxes.all();
    expect(left?.state).toBe("killing");
    if (left) left.retryAt = 0;
    await s.server.sweep.once();
    await nothingLeft(s);
  });

  test("when the template's files are missing, and the answer says what to do", async () => {
    await using s = await TestServer.start();
    s.world.images.add(`sha256:${"0".repeat(64)}`);
    const reply = await s.call("POST", "/v2/sandboxes", { templateID: "base" });
    expect([reply.status, reply.body.error_code]).toEqual([404, "template_files_missing"]);
    expect(reply.body.message).toContain("rebuild the template");
    await nothingLeft(s);
  });

  test("when its client goes away", async () => {
    await using s = await TestServer.start();
    s.world.faults.add("start", { kind: "hang" });
    const abort = new AbortController();
    const request = fetch(`${s.url}/sandboxes`, {
      method: "POST",
      headers: { "X-API-Key": s.apiKey },
      body: '{"templateID":"base"}',
      signal: abort.signal,
    });
    while (s.world.sandboxes.size === 0) await Bun.sleep(1);
    abort.abort();
    await request.catch(() => {});
    while (s.server.engine.sandboxes.all().length > 0) await Bun.sleep(5);
    await nothingLeft(s);
  });
});

test("a sandbox whose time is moved while its end waits for its turn lives on, until the new time", async () => {
  await using s = await TestServer.start();
  const { engine } = s.server;
  const { sandboxes } = s.server.context;
  const { sandboxID } = await s.create({ timeout: 60 });
  const [sandbox] = engine.sandboxes.all();
  if (!sandbox) throw new Error("no sandbox");
  const { id, teamId } = sandbox.record;
  const longer = sandboxes.setTimeout(teamId, id, 60);
  const due = engine.end(sandbox, "timeout");
  await Promise.all([longer, due]);
  expect((await s.call("GET", `/sandboxes/${sandboxID}`)).status).toBe(200);
  await sandboxes.setTimeout(teamId, id, 0.05);
  while (engine.sandboxes.size > 0) await Bun.sleep(5);
  await nothingLeft(s);
});

describe("a sandbox that ends by itself", () => {
  test.each(["agent_exited", "out_of_memory", "memory_lost", "out_of_disk", "evicted", "node_lost", "unknown"] as const)(
    "because of %s is removed, and its record says why",
    async (reason) => {
      await using s = await TestServer.start();
      const { sandboxID } = await s.create();
      await s.world.stop(sandboxID, { reason });
      while (s.world.sandboxes.size > 0) await Bun.sleep(1);
      while (s.server.engine.sandboxes.all().length > 0) await Bun.sleep(1);
      const record = await s.server.context.store.getSandbox(sandboxID as SandboxRecord["id"]);
      expect([record?.state, record?.reason]).toEqual(["dead", reason]);
      expect((await s.call("GET", `/sandboxes/${sandboxID}`)).status).toBe(404);
    },
  );

  test("is noticed also when the driver's first answer is an error", async () => {
    await using s = await TestServer.start();
    s.world.faults.add("wait", { kind: "fail" });
    const { sandboxID } = await s.create();
    await s.world.stop(sandboxID, { reason: "killed" });
    while (s.world.sandboxes.size > 0) await Bun.sleep(10);
    expect((await s.call("GET", `/sandboxes/${sandboxID}`)).status).toBe(404);
  });

  test("without a trace in the driver is noticed by the sweep", async () => {
    await using s = await TestServer.start();
    s.world.faults.add("wait", { kind: "hang" });
    const { sandboxID } = await s.create();
    s.world.sandboxes.get(sandboxID)?.agent?.stop();
    s.world.sandboxes.delete(sandboxID);
    await s.server.sweep.once();
    expect((await s.call("GET", `/sandboxes/${sandboxID}`)).status).toBe(200);
    await s.server.sweep.once();
    expect((await s.call("GET", `/sandboxes/${sandboxID}`)).status).toBe(404);
  });
});

describe("races", () => {
  test("a kill during a create wins, and nothing is left", async () => {
    await using s = await TestServer.start();
    s.world.faults.add("start", { kind: "hang" });
    const create = s.call("POST", "/sandboxes", { templateID: "base" });
    while (s.world.sandboxes.size === 0) await Bun.sleep(1);
    const [id] = s.world.sandboxes.keys();
    expect((await s.call("DELETE", `/sandboxes/${id}`)).status).toBe(204);
    expect((await create).status).toBe(409);
    await nothingLeft(s);
  });

  test("of several kills one wins", async () => {
    await using s = await TestServer.start();
    const { sandboxID } = await s.create();
    const gate = s.world.faults.hold("destroy");
    const kill = () => s.call("DELETE", `/sandboxes/${sandboxID}`);
    const first = kill();
    await eventually("the first removes it", () => gate.reached === 1);
    const others = await Promise.all([kill(), kill()]);
    gate.open();
    const replies = [await first, ...others];
    expect(replies.map((reply) => reply.status).sort()).toEqual([204, 404, 404]);
    await nothingLeft(s);
  });

  test("a timeout set during a kill is 404, and does not revive it", async () => {
    await using s = await TestServer.start();
    const { sandboxID } = await s.create();
    const gate = s.world.faults.hold("destroy");
    const kill = s.call("DELETE", `/sandboxes/${sandboxID}`);
    await eventually("the kill is under way", () => gate.reached === 1);
    expect((await s.call("POST", `/sandboxes/${sandboxID}/timeout`, { timeout: 100 })).status).toBe(404);
    expect((await s.call("POST", `/v2/sandboxes/${sandboxID}/connect`)).status).toBe(404);
    gate.open();
    expect((await kill).status).toBe(204);
    await nothingLeft(s);
  });

  test("a kill that the driver fails is 500; the sweep finishes it", async () => {
    await using s = await TestServer.start();
    const { sandboxID } = await s.create();
    s.world.faults.add("destroy", { kind: "fail" });
    expect((await s.call("DELETE", `/sandboxes/${sandboxID}`)).status).toBe(500);
    expect((await s.call("DELETE", `/sandboxes/${sandboxID}`)).status).toBe(404);
    for (const live of s.server.engine.sandboxes.all()) live.retryAt = 0;
    await s.server.sweep.once();
    await nothingLeft(s);
  });

  test("a later end wins against one that is due", async () => {
    const clock = new JumpClock();
    await using s = await TestServer.start({ clock });
    const answers = async ({ sandboxID }: { sandboxID: string }) => (await s.call("GET", `/sandboxes/${sandboxID}`)).status === 200;
    const [one, other] = [await s.create(), await s.create()];
    for (let i = 0; i < 5; i++) {
      for (const timeout of [2, 60]) await s.call("POST", `/sandboxes/${one.sandboxID}/timeout`, { timeout });
    }
    await s.call("POST", `/sandboxes/${other.sandboxID}/timeout`, { timeout: 2 });
    clock.jump(30_000);
    await eventually("the other one has ended", async () => !(await answers(other)));
    expect(await answers(one)).toBe(true);
  });

  test("fifty creates at once all succeed, and fifty kills too", async () => {
    await using s = await TestServer.start();
    const made = await Promise.all(Array.from({ length: 50 }, () => s.create()));
    expect(new Set(made.map(({ sandboxID }) => sandboxID)).size).toBe(50);
    expect(s.world.sandboxes.size).toBe(50);
    const gone = await Promise.all(made.map(({ sandboxID }) => s.call("DELETE", `/sandboxes/${sandboxID}`)));
    expect(gone.every(({ status }) => status === 204)).toBe(true);
    await nothingLeft(s);
  });
});

describe("limits", () => {
  test("creates beyond the queue get 429 with Retry-After, and the others succeed", async () => {
    await using s = await TestServer.start({ env: { BOXYARD_MAX_CREATES: "1", BOXYARD_MAX_QUEUED_CREATES: "2" } });
    const gate = s.world.faults.hold("start");
    let answered = 0;
    const asked = Array.from({ length: 6 }, () => s.call("POST", "/sandboxes", { templateID: "base" }).finally(() => answered++));
    await eventually("three are refused", () => answered === 3);
    gate.open();
    const replies = await Promise.all(asked);
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 201, 201, 429, 429, 429]);
    for (const reply of replies) if (reply.status === 429) expect([reply.headers.get("retry-after"), reply.body.code]).toEqual(["1", 429]);
  });

  test("too many sandboxes get 429", async () => {
    await using s = await TestServer.start({ env: { BOXYARD_MAX_SANDBOXES: "2" } });
    const first = await s.create();
    await s.create();
    const reply = await s.call("POST", "/sandboxes", { templateID: "base" });
    expect([reply.status, reply.headers.get("retry-after")]).toEqual([429, "5"]);
    await s.call("DELETE", `/sandboxes/${first.sandboxID}`);
    await s.create();
  });
});

describe("the sweep", () => {
  test("freezes an orphan in the second round that finds it, and removes it when its time is over", async () => {
    const world = new FakeWorld();
    const clock = new JumpClock();
    await using s = await TestServer.start({ world, clock });
    const { sandboxID } = await s.create();
    const known = world.sandboxes.get(sandboxID);
    if (!known) throw new Error("no sandbox");
    world.boot(world.make({ ...known.spec, sandboxId: "i00000000000000000001" as SandboxRecord["id"] }, "fake"));
    const frozen = () => world.sandboxes.get("i00000000000000000001")?.frozen;
    await s.server.sweep.once();
    expect(frozen()).toBe(false);
    await s.server.sweep.once();
    expect(frozen()).toBe(true);
    clock.jump(61 * 60_000);
    await s.server.sweep.once();
    expect(frozen()).toBeUndefined();
  });
});
