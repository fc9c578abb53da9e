import { describe, expect, test } from "bun:test";
import type { SandboxId } from "@boxyard/core";
import { eventually } from "@boxyard/testkit";
import { holdAt, Place } from "../../testing/place.ts";
import type { TestServer } from "../../testing/test-server.ts";

const recordOf = (s: TestServer, id: string) => s.server.context.store.getSandbox(id as SandboxId);

describe("after a restart", () => {
  test("running sandboxes are adopted, with their access, end and answers", async () => {
    await using place = await new Place();
    const first = await place.boot();
    const made = await Promise.all(Array.from({ length: 20 }, (_, i) => first.create({ metadata: { n: String(i) }, timeout: 100 + i })));
    const before = (await first.call("GET", "/v2/sandboxes")).body;
    await place.crash(first);
    const second = await place.boot();
    expect([second.server.adoption.adopted, second.server.adoption.removed]).toEqual([20, 0]);
    expect((await second.call("GET", "/v2/sandboxes")).body).toEqual(before);
    for (const { sandboxID, envdAccessToken } of made.slice(0, 3)) {
      expect((await second.call("POST", `/v2/sandboxes/${sandboxID}/connect`)).body.envdAccessToken).toBe(envdAccessToken);
      const health = await fetch(`${second.url}/health`, { headers: { "E2b-Sandbox-Id": sandboxID, "E2b-Sandbox-Port": "49983" } });
      expect(health.status).toBe(204);
      expect(place.world.sandboxes.get(sandboxID)?.agent?.inits).toHaveLength(1);
    }
    const [some] = made;
    await place.world.stop(String(some?.sandboxID), { reason: "agent_exited" });
    while ((await second.call("GET", `/sandboxes/${some?.sandboxID}`)).status === 200) await Bun.sleep(5);
  });

  test("a sandbox whose time was over meanwhile is ended at once, any other at its time", async () => {
    await using place = await new Place();
    const first = await place.boot();
    const past = await first.create({ timeout: 1 });
    const soon = await first.create({ timeout: 2 });
    await place.crash(first);
    // Time alone: nobody watches while there is no server.
    await Bun.sleep(1050);
    const second = await place.boot();
    while ((await second.call("GET", `/sandboxes/${past.sandboxID}`)).status === 200) await Bun.sleep(5);
    expect((await second.call("GET", `/sandboxes/${soon.sandboxID}`)).status).toBe(200);
    while ((await second.call("GET", `/sandboxes/${soon.sandboxID}`)).status === 200) await Bun.sleep(5);
    while (place.world.sandboxes.size > 0) await Bun.sleep(5);
    expect((await recordOf(second, soon.sandboxID))?.reason).toBe("timeout");
  });

  test("a create whose server was killed after the result was written is kept", async () => {
    await using place = await new Place();
    const { observer, reached } = holdAt("createOnce result", "after");
    const first = await place.boot({ observer });
    const create = first.call("POST", "/v2/sandboxes", { templateID: "base" }, { "Idempotency-Key": "k-1" }).catch(() => undefined);
    await reached;
    await place.crash(first);
    await create;
    const second = await place.boot();
    const [id] = place.world.sandboxes.keys();
    const again = await second.call("POST", "/v2/sandboxes", { templateID: "base" }, { "Idempotency-Key": "k-1" });
    expect([again.status, again.body.sandboxID]).toEqual([201, id]);
    expect(place.world.sandboxes.size).toBe(1);
  });

  test("a sandbox that ended meanwhile and a sandbox that is lost are removed", async () => {
    await using place = await new Place();
    const first = await place.boot();
    const [stopped, lost, kept] = [await first.create(), await first.create(), await first.create()];
    await place.crash(first);
    await place.world.stop(stopped.sandboxID, { reason: "out_of_memory" });
    await place.world.remove(lost.sandboxID);
    const second = await place.boot();
    await second.server.adoption.removals;
    expect([...place.world.sandboxes.keys()]).toEqual([kept.sandboxID]);
    expect((await recordOf(second, stopped.sandboxID))?.reason).toBe("out_of_memory");
    expect((await recordOf(second, lost.sandboxID))?.reason).toBe("lost");
  });

  test("a driver that cannot tell the state at first is asked again, and the sandbox is not ended", async () => {
    await using place = await new Place();
    const first = await place.boot();
    const { sandboxID } = await first.create();
    await place.crash(first);
    place.world.faults.add("recover", { kind: "fail" });
    const second = await place.boot();
    expect(second.server.adoption.adopted).toBe(0);
    expect(place.world.sandboxes.size).toBe(1);
    await second.server.sweep.once();
    const health = await fetch(`${second.url}/health`, { headers: { "E2b-Sandbox-Id": sandboxID, "E2b-Sandbox-Port": "49983" } });
    expect(health.status).toBe(204);
  });

  test("a removal that fails at the restart is tried again", async () => {
    await using place = await new Place();
    const { observer, reached } = holdAt("kill destroy");
    const first = await place.boot({ observer });
    const { sandboxID } = await first.create();
    const kill = first.call("DELETE", `/sandboxes/${sandboxID}`).catch(() => undefined);
    await reached;
    await place.crash(first);
    await kill;
    place.world.faults.add("destroy", { kind: "fail" });
    const second = await place.boot();
    await second.server.adoption.removals;
    expect(place.world.sandboxes.size).toBe(1);
    for (const live of second.server.engine.sandboxes.all()) live.retryAt = 0;
    await second.server.sweep.once();
    expect(place.world.sandboxes.size).toBe(0);
  });
});

describe("an idempotency key", () => {
  const key = { "Idempotency-Key": "0a-1b" };

  test("gives the same sandbox for the same request, also when that has ended, and after a restart", async () => {
    await using place = await new Place();
    const first = await place.boot();
    const body = { templateID: "base", metadata: { a: "1", b: "2" } };
    const one = await first.call("POST", "/v2/sandboxes", body, key);
    const two = await first.call("POST", "/v2/sandboxes", { metadata: { b: "2", a: "1" }, templateID: "base" }, key);
    expect([one.status, two.status, two.body]).toEqual([201, 201, one.body]);
    await first.call("DELETE", `/sandboxes/${one.body.sandboxID}`);
    await place.crash(first);
    const second = await place.boot();
    expect((await second.call("POST", "/v2/sandboxes", body, key)).body).toEqual(one.body);
    expect(place.world.sandboxes.size).toBe(0);
  });

  test("used for another request is 422; malformed it is 400", async () => {
    await using place = await new Place();
    const s = await place.boot();
    await s.call("POST", "/v2/sandboxes", { templateID: "base" }, key);
    const other = await s.call("POST", "/v2/sandboxes", { templateID: "base", timeout: 7 }, key);
    expect([other.status, other.body.code, other.body.error_code]).toEqual([422, 422, "idempotency_request_mismatch"]);
    expect((await s.call("POST", "/v2/sandboxes", { templateID: "base" }, { "Idempotency-Key": "x".repeat(256) })).status).toBe(400);
    expect(place.world.sandboxes.size).toBe(1);
  });

  test("is 409, to be repeated, while the first request is in progress; one sandbox is made", async () => {
    await using place = await new Place();
    const s = await place.boot();
    const gate = place.world.faults.hold("start");
    let answered = 0;
    const asked = [1, 2, 3].map(() => s.call("POST", "/v2/sandboxes", { templateID: "base" }, key).finally(() => answered++));
    await eventually("two are refused", () => answered === 2);
    gate.open();
    const replies = await Promise.all(asked);
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    const busy = replies.find(({ status }) => status === 409);
    expect([busy?.body.error_code, busy?.headers.get("should-retry"), busy?.headers.get("retry-after")]).toEqual([
      "idempotency_in_progress",
      "true",
      "1",
    ]);
    expect(place.world.sandboxes.size).toBe(1);
  });

  test("is free again after a create that failed, or that a killed server left unfinished", async () => {
    await using place = await new Place();
    const { observer, reached } = holdAt("create init", "after");
    const first = await place.boot({ observer });
    place.world.faults.add("create", { kind: "fail" });
    expect((await first.call("POST", "/v2/sandboxes", { templateID: "base" }, key)).status).toBe(500);
    const cut = first.call("POST", "/v2/sandboxes", { templateID: "base" }, key).catch(() => undefined);
    await reached;
    await place.crash(first);
    await cut;
    const second = await place.boot();
    const again = await second.call("POST", "/v2/sandboxes", { templateID: "base" }, key);
    expect(again.status).toBe(201);
    await second.server.adoption.removals;
    expect([...place.world.sandboxes.keys()]).toEqual([again.body.sandboxID]);
  });
});

describe("a sandbox whose state the driver could not tell at the start", () => {
  test("is adopted in its turn: a kill during that ends it", async () => {
    await using place = await new Place();
    const first = await place.boot();
    const { sandboxID } = await first.create();
    await place.crash(first);
    place.world.faults.add("recover", { kind: "fail" });
    const second = await place.boot();
    expect(second.server.adoption).toMatchObject({ adopted: 0, removed: 0 });
    const gate = place.world.faults.hold("recover");
    const sweeping = second.server.sweep.once();
    await eventually("it is being adopted", () => gate.reached === 1);
    const killed = second.call("DELETE", `/sandboxes/${sandboxID}`);
    await eventually("the kill waits for its turn", () => second.server.engine.sandboxes.find(sandboxID as SandboxId)?.queue.size === 2);
    gate.open();
    expect((await killed).status).toBe(204);
    await sweeping;
    expect(place.world.sandboxes.size).toBe(0);
    expect(second.server.routes.find(sandboxID)).toBeUndefined();
    expect((await second.call("GET", `/sandboxes/${sandboxID}`)).status).toBe(404);
  });

  test("answers again when it is adopted, with the timeout that was set meanwhile", async () => {
    await using place = await new Place();
    const first = await place.boot();
    const { sandboxID } = await first.create({ timeout: 100 });
    await place.crash(first);
    place.world.faults.add("recover", { kind: "fail" });
    const second = await place.boot();
    const gate = place.world.faults.hold("recover");
    const sweeping = second.server.sweep.once();
    await eventually("it is being adopted", () => gate.reached === 1);
    const moved = second.call("POST", `/sandboxes/${sandboxID}/timeout`, { timeout: 1000 });
    await eventually("the timeout waits for its turn", () => second.server.engine.sandboxes.find(sandboxID as SandboxId)?.queue.size === 2);
    gate.open();
    expect((await moved).status).toBe(204);
    await sweeping;
    const health = await fetch(`${second.url}/health`, { headers: { "E2b-Sandbox-Id": sandboxID, "E2b-Sandbox-Port": "49983" } });
    expect(health.status).toBe(204);
    const { endAt } = second.server.engine.sandboxes.find(sandboxID as SandboxId)?.record ?? { endAt: 0 };
    expect(endAt).toBeGreaterThan(Date.now() + 900_000);
  });
});
