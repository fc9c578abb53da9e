import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { newSandboxId } from "@boxyard/core";
import { eventually } from "@boxyard/testkit";
import { pointsOf } from "../../sandboxes/engine/transition.ts";
import { TRANSITIONS } from "../../sandboxes/transitions/index.ts";
import { holdAt, Place } from "../../testing/place.ts";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
beforeEach(async () => {
  s = await TestServer.start();
});
afterEach(() => s[Symbol.asyncDispose]());

const CREATOR = "0123456789abcdef";
const put = (name: string, body: object = {}, server = s) =>
  server.call("PUT", `/sandboxes/by-name/${name}`, { templateID: "base", ...body });
const setup = (creator = CREATOR, leaseSeconds = 30) => ({ setup: { creator, leaseSeconds } });
const step = (id: string, body: object) => s.call("PUT", `/sandboxes/${id}/setup`, { creator: CREATOR, ...body });
const byName = async (name: string, server = s) => (await server.call("GET", `/sandboxes/by-name/${name}`)).body.sandboxID;
const creates = () => s.world.faults.calls.filter((verb) => verb === "create").length;

describe("a name", () => {
  test("belongs to one living sandbox, is shown, and stands for the id in every path", async () => {
    const { sandboxID, name } = await s.create({ name: "web" });
    expect(name).toBe("web");
    const taken = await s.call("POST", "/v2/sandboxes", { templateID: "base", name: "web" });
    expect([taken.status, taken.body.error_code]).toEqual([409, "sandbox_name_taken"]);
    expect(taken.body.message).toContain(sandboxID);
    expect((await s.call("GET", "/v2/sandboxes")).body).toMatchObject([{ sandboxID, name: "web", alias: "base" }]);
    expect(await byName("web")).toBe(sandboxID);
    expect((await s.call("POST", "/sandboxes/by-name/web/timeout", { timeout: 60 })).status).toBe(204);
    expect((await s.call("POST", "/sandboxes/by-name/web/pause", {})).status).toBe(204);
    expect((await s.call("POST", "/v2/sandboxes/by-name/web/connect", {})).body).toMatchObject({ sandboxID, name: "web" });
    expect((await s.call("GET", "/v2/sandboxes/by-name/web/logs")).status).toBe(200);
    expect((await s.call("DELETE", "/sandboxes/by-name/web")).status).toBe(204);
    expect((await s.call("GET", "/sandboxes/by-name/web")).status).toBe(404);
    expect((await s.create({ name: "web" })).sandboxID).not.toBe(sandboxID);
  });

  test("may be that of a verb; what looks like an id or a path is refused", async () => {
    expect(await byName((await s.create({ name: "metrics" })).name as string)).toStartWith("i");
    for (const name of ["", "-a", "a b", "a/b", "é", "x".repeat(64), newSandboxId()]) {
      expect([name, (await s.call("POST", "/v2/sandboxes", { templateID: "base", name })).status]).toEqual([name, 400]);
    }
    expect((await put("a%20b")).status).toBe(400);
  });

  test("is changed, and taken away, by PATCH; the old one is free then", async () => {
    const { sandboxID: id } = await s.create({ name: "old" });
    const { sandboxID: other } = await s.create({ name: "other" });
    const patch = (name: string, of = id) => s.call("PATCH", `/sandboxes/${of}`, { name });
    expect(await patch("new")).toMatchObject({ status: 200, body: { name: "new", sandboxID: id } });
    expect([await byName("new"), (await s.call("GET", "/sandboxes/by-name/old")).status]).toEqual([id, 404]);
    expect((await patch("other")).body.error_code).toBe("sandbox_name_taken");
    expect([(await patch("new")).status, (await patch("old", other)).status, await byName("old")]).toEqual([200, 200, other]);
    expect((await patch("")).body.name).toBeUndefined();
    expect((await s.call("GET", "/sandboxes/by-name/new")).status).toBe(404);
    await s.call("POST", `/sandboxes/${id}/pause`, {});
    expect((await patch("new")).body).toMatchObject({ name: "new", state: "paused" });
    expect((await patch("x", newSandboxId())).status).toBe(404);
  });

  test("stays over a restart, and is not that of a fork", async () => {
    await using place = new Place();
    const first = await place.boot();
    const { sandboxID } = await first.create({ name: "web" });
    const [{ sandbox }] = (await first.call("POST", `/sandboxes/${sandboxID}/fork`, {})).body;
    expect(sandbox.name).toBeUndefined();
    const { sandboxID: killed } = await first.create({ name: "job" });
    await first.call("DELETE", `/sandboxes/${killed}`);
    await place.crash(first);
    const second = await place.boot();
    expect(await byName("web", second)).toBe(sandboxID);
    expect((await second.call("POST", "/v2/sandboxes", { templateID: "base", name: "web" })).status).toBe(409);
    await second.create({ name: "job" });
    expect((await second.call("GET", `/sandboxes/${killed}`)).body.error_code).toBe("sandbox_replaced");
  });

  test("is free again when the store does not take it", async () => {
    const { sandboxID: id } = await s.create({ name: "a" });
    const { store } = s.server.context;
    const update = store.updateSandbox.bind(store);
    store.updateSandbox = () => Promise.reject(new Error("injected"));
    expect((await s.call("PATCH", `/sandboxes/${id}`, { name: "b" })).status).toBe(500);
    store.updateSandbox = update;
    expect([await byName("a"), (await s.create({ name: "b" })).name]).toEqual([id, "b"]);
  });
});

describe("get or create", () => {
  test("gives a hundred callers at once the same sandbox, of which one has created it", async () => {
    const replies = await Promise.all(Array.from({ length: 100 }, () => put("web")));
    expect(new Set(replies.map(({ body }) => body.sandboxID)).size).toBe(1);
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(replies.every(({ status, body }) => body.outcome === (status === 201 ? "created" : "running"))).toBe(true);
    expect(creates()).toBe(1);
  });

  test("lets the others wait until the creator has prepared it", async () => {
    const first = await put("web", setup());
    expect([first.status, first.body.outcome]).toEqual([201, "created"]);
    let answered = 0;
    const others = Array.from({ length: 20 }, async (_, i) => {
      const reply = await put("web", setup(`another-creator-${i}`));
      answered++;
      return reply;
    });
    expect((await step(first.body.sandboxID, {})).status).toBe(204);
    expect([answered, (await put("web", setup())).body.outcome]).toEqual([0, "created"]);
    expect((await step(first.body.sandboxID, { done: true })).status).toBe(204);
    for (const { status, body } of await Promise.all(others)) {
      expect([status, body.sandboxID, body.outcome]).toEqual([200, first.body.sandboxID, "running"]);
    }
    expect((await step(first.body.sandboxID, { done: true })).status).toBe(204);
    expect((await step(first.body.sandboxID, {})).body.error_code).toBe("setup_lost");
    expect(creates()).toBe(1);
  });

  test("replaces a sandbox whose creator has gone, and removes that", async () => {
    const { body } = await put("web", setup(CREATOR, 1));
    const next = await put("web", setup("another-creator"));
    expect([next.status, next.body.sandboxID === body.sandboxID]).toEqual([201, false]);
    expect([...s.world.sandboxes.keys()]).toEqual([next.body.sandboxID]);
    expect((await step(body.sandboxID, { done: true })).body.error_code).toBe("sandbox_replaced");
    expect((await step(next.body.sandboxID, { done: true })).body.error_code).toBe("setup_lost");
  });

  test("removes it also when nobody asks", async () => {
    const { body } = await put("web", setup(CREATOR, 1));
    await eventually("it is removed", () => s.world.sandboxes.size === 0);
    const { logs } = (await s.call("GET", `/v2/sandboxes/${body.sandboxID}/logs`)).body;
    expect(logs[0].fields.cause).toBe("setup_abandoned");
  });

  test("resumes a paused one, for one of many callers", async () => {
    const { sandboxID } = await s.create({ name: "web" });
    await s.call("POST", `/sandboxes/${sandboxID}/pause`, {});
    const replies = await Promise.all(Array.from({ length: 10 }, () => put("web")));
    expect(replies.map(({ body }) => body.outcome).sort()).toEqual(["resumed", ...Array(9).fill("running")]);
    expect(new Set(replies.map(({ body }) => body.sandboxID))).toEqual(new Set([sandboxID]));
  });

  test("replaces a killed one; the old one's id says so, to its team and to clients of its ports", async () => {
    const { sandboxID: old } = await s.create({ name: "web" });
    await s.call("DELETE", `/sandboxes/${old}`);
    expect((await s.call("GET", `/sandboxes/${old}`)).body.error_code).toBeUndefined();
    const { body } = await put("web");
    for (const [method, path, content] of [
      ["GET", "", undefined],
      ["DELETE", "", undefined],
      ["POST", "/pause", {}],
      ["POST", "/timeout", { timeout: 5 }],
      ["POST", "/fork", {}],
    ] as const) {
      const reply = await s.call(method, `/sandboxes/${old}${path}`, content);
      expect([path, reply.status, reply.body.error_code]).toEqual([path, 404, "sandbox_replaced"]);
    }
    const asked = await fetch(`${s.url}/health`, { headers: { "Svc-Sandbox-Id": old, "Svc-Sandbox-Port": "49983" } });
    expect([asked.status, await asked.json()]).toMatchObject([502, { error_code: "sandbox_replaced", sandboxId: old }]);
    await s.call("DELETE", `/sandboxes/${body.sandboxID}`);
    expect((await s.call("GET", `/sandboxes/${old}`)).body.error_code).toBeUndefined();
  });

  test("hands a failed create on: the next caller creates", async () => {
    s.world.faults.add("create", { kind: "fail", times: 1 });
    const replies = await Promise.all(Array.from({ length: 5 }, () => put("web")));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201, 500]);
    expect((await put("other", { templateID: "none" })).status).toBe(404);
    expect((await put("web", { timeout: 10 ** 9 })).status).toBe(400);
  });

  test("of a client that leaves during the create leaves nothing, and the next caller creates", async () => {
    s.world.faults.add("create", { kind: "hang" });
    const gone = new AbortController();
    const asked = fetch(`${s.url}/sandboxes/by-name/web`, {
      method: "PUT",
      headers: { "X-API-Key": s.apiKey },
      body: JSON.stringify({ templateID: "base" }),
      signal: gone.signal,
    }).catch(() => undefined);
    await eventually("it is being created", () => creates() === 1);
    const next = put("web");
    gone.abort();
    await asked;
    expect([(await next).status, s.world.sandboxes.size]).toEqual([201, 1]);
  });

  test("does not let another team see, take or guess a name", async () => {
    const { sandboxID } = await s.create({ name: "web" });
    const { store, named } = s.server.context;
    const other = await store.ensureTeam("other", "Other");
    expect(() => named.idOf(other, "web")).toThrow("doesn't exist");
    expect(s.server.engine.sandboxes.names.holder(other, "web")).toBeUndefined();
    await expect(named.rename(other, sandboxID as never, "mine")).rejects.toMatchObject({ reason: "sandbox_not_found" });
    await s.call("DELETE", `/sandboxes/${sandboxID}`);
    await s.create({ name: "web" });
    expect(() => s.server.context.sandboxes.get(other, sandboxID as never)).toThrow("doesn't exist");
  });
});

const POINTS = pointsOf(TRANSITIONS.create);

test.each(POINTS)("a server that is killed in a get-or-create (before %s) leaves nothing, and the name is free", async (point) => {
  await using place = new Place();
  const { observer, reached } = holdAt(point);
  const first = await place.boot({ observer });
  const asked = put("web", setup(), first).catch(() => undefined);
  await reached;
  await place.crash(first);
  await asked;
  const second = await place.boot();
  await second.server.adoption.removals;
  const { status, body } = await put("web", {}, second);
  expect([status, [...place.world.sandboxes.keys()]]).toEqual([201, [body.sandboxID]]);
});

test("a server that is killed before the creator was done keeps its claim, and the repeat of its request gets the sandbox", async () => {
  await using place = new Place();
  const first = await place.boot();
  const made = await put("web", setup(), first);
  await place.crash(first);
  const second = await place.boot();
  const again = await put("web", setup(), second);
  expect([again.body.outcome, again.body.sandboxID]).toEqual(["created", made.body.sandboxID]);
  const done = await second.call("PUT", `/sandboxes/${made.body.sandboxID}/setup`, { creator: CREATOR, done: true });
  expect([done.status, (await put("web", setup("another-creator"), second)).body.outcome]).toEqual([204, "running"]);
});
