import { afterEach, beforeEach, expect, test } from "bun:test";
import { AppError, type SandboxId } from "@boxyard/core";
import { eventually } from "@boxyard/testkit";
import { holdAt, Place } from "../../testing/place.ts";
import type { TestServer } from "../../testing/test-server.ts";

/* A create under a key that gets a sandbox of the pool is one write of the store, which decides what the client is told when it asks again. */

const ON = { BOXYARD_WARM_SANDBOXES: "1" };

let place: Place;
beforeEach(() => {
  place = new Place();
});
afterEach(() => place[Symbol.asyncDispose]());

const create = (s: TestServer, key: string) => s.call("POST", "/v2/sandboxes", { templateID: "base" }, { "Idempotency-Key": key });

/** Makes a sandbox, and waits until another one waits, whose id it returns. */
async function warmedUp(s: TestServer): Promise<string> {
  const { sandboxID } = await s.create();
  await eventually("a sandbox waits", () => s.server.warm.size > 0);
  await s.call("DELETE", `/sandboxes/${sandboxID}`);
  return s.server.engine.sandboxes.all().find(({ record }) => record.owner.kind === "pool")?.id ?? "";
}

test.each([
  ["before", false],
  ["after", true],
] as const)("the death of the server %s the write: the key leads to the sandbox after it alone, and to one", async (when, isMade) => {
  const { observer, reached } = holdAt("claim result", when);
  const first = await place.boot({ env: ON, observer });
  const member = await warmedUp(first);
  const asked = create(first, "k").catch(() => undefined);
  await reached;
  await place.crash(first);
  await asked;
  const second = await place.boot({ env: { BOXYARD_WARM_SANDBOXES: "0" } });
  await second.server.adoption.removals;
  expect(await second.server.context.store.operations.listUnfinished()).toEqual([]);
  const again = await create(second, "k");
  expect([again.status, again.body.sandboxID === member]).toEqual([201, isMade]);
  expect((await create(second, "k")).body.sandboxID).toBe(again.body.sandboxID);
  expect([...place.world.sandboxes.keys()]).toEqual([again.body.sandboxID]);
});

test.each([
  ["another team", true],
  ["the same team", false],
])("a key whose claim died before its first step does not lead to the sandbox that %s got from the pool later", async (_who, isOther) => {
  const { observer, reached } = holdAt("claim relabel");
  const first = await place.boot({ env: ON, observer });
  const { store, templates } = first.server.context;
  await store.templates.setPublic(templates.resolve(first.server.firstKey.teamId, "base", "templateID").templateId, true, Date.now());
  const member = await warmedUp(first);
  const asked = create(first, "k").catch(() => undefined);
  await reached;
  await place.crash(first);
  await asked;
  const second = await place.boot({ env: ON });
  await eventually("it waits on", () => second.server.warm.size > 0);
  const headers = isOther ? (await second.team("other")).headers : {};
  const got = await second.call("POST", "/v2/sandboxes", { templateID: "base" }, { ...headers, "Idempotency-Key": "another" });
  expect(got.body.sandboxID).toBe(member);
  const again = await create(second, "k");
  expect([again.status, again.body.sandboxID === member]).toEqual([201, false]);
  expect((await create(second, "k")).body.sandboxID).toBe(again.body.sandboxID);
});

test("a claim whose write seemed to fail is undone, and not told after a crash that came before the key was free", async () => {
  const s = await place.boot({ env: ON });
  const member = await warmedUp(s);
  const { store } = s.server.context;
  const take = store.takeFromPool.bind(store);
  store.takeFromPool = async (record) => {
    await take(record);
    throw new AppError("unavailable", "the answer of the store is lost", { reason: "store_unavailable" });
  };
  store.dropKey = () => Promise.reject(new Error("the server dies here"));
  expect((await create(s, "k")).status).toBe(503);
  await eventually("it is removed", () => !place.world.sandboxes.has(member as SandboxId));
  await place.crash(s);
  const second = await place.boot({ env: ON });
  const again = await create(second, "k");
  expect([again.status, again.body.sandboxID === member]).toEqual([201, false]);
});

test("a claimed sandbox that has ended since is told as ended ones are", async () => {
  const s = await place.boot({ env: ON });
  const member = await warmedUp(s);
  expect((await create(s, "k")).body.sandboxID).toBe(member);
  await s.call("DELETE", `/sandboxes/${member}`);
  const again = await create(s, "k");
  expect([again.status, again.body.sandboxID]).toEqual([201, member]);
});
