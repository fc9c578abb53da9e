import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { AppError, type SandboxId, VERSION } from "@boxyard/core";
import { eventually } from "@boxyard/testkit";
import { JumpClock } from "../../testing/jump-clock.ts";
import { Place } from "../../testing/place.ts";
import type { TestServer } from "../../testing/test-server.ts";

const ON = { BOXYARD_WARM_SANDBOXES: "2" };

/** The time between two rounds of the pool. */
const ROUND_MS = 5000;

let place: Place;
let clock: JumpClock;
let s: TestServer;
beforeEach(async () => {
  place = new Place();
  clock = new JumpClock(ROUND_MS);
  s = await place.boot({ env: ON, clock });
});
afterEach(() => place[Symbol.asyncDispose]());

const listedIds = async (headers = {}) =>
  ((await s.call("GET", "/v2/sandboxes", undefined, headers)).body as { sandboxID: string }[]).map(({ sandboxID }) => sandboxID).sort();
/** Ids of sandboxes that wait. */
const waiting = (of = s) =>
  of.server.engine.sandboxes.all().flatMap(({ record, state }) => (record.owner.kind === "pool" && state === "running" ? [record.id] : []));
/** Waits until a round of the pool has removed a sandbox; each jump begins the next round at once. */
const removedInARound = (id: string | undefined) =>
  eventually("it is removed", () => {
    clock.jump(1);
    return !place.world.sandboxes.has(id as SandboxId);
  });
const untilOneWaits = () => eventually("a sandbox waits", () => s.server.warm.size > 0);
/** Makes one sandbox, and waits until another one waits. */
async function warmedUp(): Promise<string> {
  const { sandboxID } = await s.create();
  await untilOneWaits();
  return sandboxID;
}

/** A template `started` that starts from memory. Returns the name of its snapshot. */
async function startedTemplate(): Promise<string> {
  const { store, templates } = s.server.context;
  const { teamId } = s.server.firstKey;
  const { sandboxID } = await s.create({ name: "source" });
  const { snapshotID } = (await s.call("POST", `/sandboxes/${sandboxID}/snapshots`, {})).body;
  const started = templates.resolve(teamId, snapshotID, "templateID").spec.snapshot?.id as string;
  const { spec } = templates.resolve(teamId, "base", "templateID");
  await store.templates.put(teamId, "started", "default", { ...spec, started, startCmd: "serve" }, Date.now());
  await templates.load();
  return started;
}

test("nothing waits before the first create; then one does, and the next create gets it", async () => {
  expect(place.world.sandboxes.size).toBe(0);
  const first = await warmedUp();
  const [member] = waiting();
  const { sandboxID: second } = await s.create({ metadata: { a: "b" }, timeout: 77 });
  expect(second).toBe(member as string);
  expect(await listedIds()).toEqual([first, second].sort());
  const { body } = await s.call("GET", `/sandboxes/${second}`);
  expect([body.metadata, body.state]).toEqual([{ a: "b" }, "running"]);
  expect(Date.parse(body.endAt) - Date.parse(body.startedAt)).toBe(77_000);
  expect(s.server.warm.claims).toBe(1);
});

test("a sandbox that waits is seen by nobody: it is in no list, no event, no count, and no verb finds it", async () => {
  const first = await warmedUp();
  const [member] = waiting();
  expect(await listedIds()).toEqual([first]);
  for (const [method, path] of [
    ["GET", `/sandboxes/${member}`],
    ["DELETE", `/sandboxes/${member}`],
    ["POST", `/sandboxes/${member}/pause`],
    ["GET", `/v2/sandboxes/${member}/logs`],
  ] as const)
    expect([path, (await s.call(method, path, method === "POST" ? {} : undefined)).status]).toEqual([path, 404]);
  const events = await s.server.context.store.events.read(0, 1000);
  expect(JSON.stringify(events)).not.toContain(member as string);
  expect((await fetch(`${s.url}/health`, { headers: { "Svc-Sandbox-Id": member as string, "Svc-Sandbox-Port": "49983" } })).status).toBe(
    502,
  );
});

test("a claimed sandbox has the events of any other, and those of its end", async () => {
  await warmedUp();
  const { sandboxID: id } = await s.create();
  await s.call("DELETE", `/sandboxes/${id}`);
  const events = (await s.server.context.store.events.read(0, 1000)).filter(({ targetId }) => targetId === id);
  expect(events.map(({ action }) => action)).toEqual(["sandbox.creating", "sandbox.running", "sandbox.killing", "sandbox.dead"]);
  expect(new Set(events.map(({ teamId }) => teamId as string))).toEqual(new Set([s.server.firstKey.teamId as string]));
});

test("what a running sandbox cannot become is made: a name, a volume, another size; rules of the network are changed", async () => {
  await warmedUp();
  const [member] = waiting();
  await s.call("POST", "/volumes", { name: "data" });
  for (const body of [{ name: "mine" }, { volumeMounts: [{ name: "data", path: "/data" }] }, { resources: { memoryMB: 700 } }]) {
    const { status, body: made } = await s.call("POST", "/v2/sandboxes", { templateID: "base", ...body });
    expect([body, status, made.sandboxID === member]).toEqual([body, 201, false]);
  }
  const { sandboxID } = await s.create({ allow_internet_access: false });
  expect(sandboxID).toBe(member as string);
  expect(place.world.sandboxes.get(sandboxID as SandboxId)?.network).toMatchObject({ internetAccess: false });
});

test("the driver's record of a claimed one says whose it is, so it is adopted after a loss of the store; one that waits is removed", async () => {
  await warmedUp();
  const { sandboxID: id } = await s.create();
  const { labels } = place.world.sandboxes.get(id as SandboxId)?.spec ?? {};
  expect([labels?.pool, labels?.team]).toEqual([undefined, s.server.firstKey.teamId]);
  await untilOneWaits();
  const [member] = waiting();
  expect(place.world.sandboxes.get(member as SandboxId)?.spec.labels).toMatchObject({ pool: VERSION, team: "" });
});

describe("a create that finds a sandbox which cannot be had", () => {
  test.each(["relabel", "setNetwork"] as const)(
    "is served all the same when the driver's %s fails, and nothing is left of that one",
    async (verb) => {
      await warmedUp();
      const [member] = waiting();
      place.world.faults.add(verb, { kind: "fail" });
      const { sandboxID } = await s.create({ allow_internet_access: false });
      expect(sandboxID).not.toBe(member as string);
      await eventually("it is removed", () => !place.world.sandboxes.has(member as SandboxId));
    },
  );

  test("is served when its agent hangs", async () => {
    await warmedUp();
    const [member] = waiting();
    place.world.sandboxes.get(member as SandboxId)?.agent?.freeze();
    const { sandboxID } = await s.create();
    expect(sandboxID).not.toBe(member as string);
    await eventually("it is removed", () => !place.world.sandboxes.has(member as SandboxId));
  }, 20_000);

  test("is served when it has ended", async () => {
    await warmedUp();
    const [member] = waiting();
    await place.world.stop(member as SandboxId, { reason: "agent_exited" });
    expect((await s.create()).sandboxID).not.toBe(member as string);
  });

  test("counts once against the rate of its team", async () => {
    await warmedUp();
    const other = await s.team("other");
    expect((await s.call("PATCH", "/admin/teams/other", { limits: { createsPerMinute: 1 } })).status).toBe(200);
    const { store, templates } = s.server.context;
    await store.templates.setPublic(templates.resolve(s.server.firstKey.teamId, "base", "templateID").templateId, true, Date.now());
    await templates.load();
    place.world.faults.add("relabel", { kind: "fail" });
    const create = async () => (await s.call("POST", "/v2/sandboxes", { templateID: "base" }, other.headers)).status;
    expect([await create(), await create()]).toEqual([201, 429]);
  });

  test("gets the same sandbox for the same key, also when the claim failed the first time", async () => {
    const create = (key: string) => s.call("POST", "/v2/sandboxes", { templateID: "base" }, { "Idempotency-Key": key });
    await warmedUp();
    const [member] = waiting();
    const first = await create("one");
    expect([first.status, first.body.sandboxID]).toEqual([201, member]);
    expect((await create("one")).body.sandboxID).toBe(member as string);
    await untilOneWaits();
    place.world.faults.add("relabel", { kind: "fail" });
    const second = await create("two");
    expect(second.status).toBe(201);
    expect((await create("two")).body.sandboxID).toBe(second.body.sandboxID);
  });
});

test.each(["before", "after"] as const)(
  "a claim whose write fails %s the store has it leaves nothing, and hands the sandbox to nobody",
  async (when) => {
    const first = await warmedUp();
    const [member] = waiting();
    const { store } = s.server.context;
    const take = store.takeFromPool.bind(store);
    store.takeFromPool = async (record) => {
      store.takeFromPool = take;
      if (when === "after") await take(record);
      throw new AppError("unavailable", "the answer of the store is lost", { reason: "store_unavailable" });
    };
    expect((await s.call("POST", "/v2/sandboxes", { templateID: "base" })).status).toBe(503);
    await eventually("it is removed", () => !place.world.sandboxes.has(member as SandboxId));
    expect((await store.getSandbox(member as SandboxId))?.state ?? "dead").toBe("dead");
    const { sandboxID: next } = await s.create();
    expect(next).not.toBe(member as string);
    expect(await listedIds()).toEqual([first, next].sort());
  },
);

test("its usage begins when a user gets it: what it took while it waited is no user's", async () => {
  await warmedUp();
  const [member] = waiting();
  const sandbox = place.world.sandboxes.get(member as SandboxId);
  if (!sandbox) throw new Error("no sandbox");
  Object.assign(sandbox.use, { cpuUsageUsec: 5_000_000 });
  const { sandboxID: id } = await s.create();
  expect(id).toBe(member as string);
  Object.assign(sandbox.use, { cpuUsageUsec: 5_300_000 });
  await s.call("DELETE", `/sandboxes/${id}`);
  expect((await s.server.context.store.getSandbox(id as SandboxId))?.usage?.cpuUsec).toBe(300_000);
});

test("a sandbox of a template that starts from memory waits as a restored one, with its commands frozen until it is claimed", async () => {
  const started = await startedTemplate();
  const { store } = s.server.context;
  await s.create({ templateID: "started" });
  await untilOneWaits();
  const [member] = waiting();
  expect(place.world.sandboxes.get(member as SandboxId)?.spec.from).toEqual({ snapshot: started, memory: true });
  const { sandboxID: id } = await s.create({ templateID: "started" });
  expect(id).toBe(member as string);
  expect((await store.getSandbox(id as SandboxId))?.checkpointId).toBe(started);
  expect(place.world.sandboxes.get(id as SandboxId)?.agent?.areCommandsFrozen).toBe(false);
});

test("a refused create takes no sandbox from the pool, and is no reason to make one", async () => {
  await s.stop();
  s = await place.boot({ env: { ...ON, BOXYARD_MAX_SANDBOXES: "1" } });
  await warmedUp();
  const [member] = waiting();
  expect((await s.call("POST", "/v2/sandboxes", { templateID: "base" })).status).toBe(429);
  expect(waiting()).toEqual([member as SandboxId]);
});

test("the pool gives way to a sandbox that needs its room", async () => {
  await warmedUp();
  const [member] = waiting();
  // What runs leaves 62 processes free, and a sandbox needs 64: one that waits has two.
  place.world.capacity = { ...place.world.capacity, processesFree: place.world.sandboxes.size * 2 + 62 };
  // The account of what is free may be half a second old.
  await eventually("the pool has given way", async () => {
    const { body, status } = await s.call("POST", "/v2/sandboxes", { templateID: "base", name: "cold" });
    expect(status).toBe(201);
    await s.call("DELETE", `/sandboxes/${body.sandboxID}`);
    return !place.world.sandboxes.has(member as SandboxId);
  });
});

test("the limits that sandboxes were promised leave out those that wait", async () => {
  await s.stop();
  const { memoryLimitBytes } = place.world.capacity;
  const twice = Math.ceil((2 * 512 * 2 ** 20) / memoryLimitBytes + 1);
  s = await place.boot({ env: { ...ON, BOXYARD_MEMORY_OVERCOMMIT: String(Math.max(1, twice)) } });
  await warmedUp();
  expect((await s.create({ name: "another" })).sandboxID).toBeString();
});

test("the end of a server removes what waits, and what users have stays", async () => {
  const first = await warmedUp();
  await s.stop();
  expect([...place.world.sandboxes.keys()]).toEqual([first as SandboxId]);
});

describe("after the death of a server", () => {
  test("what waits goes on waiting, the next create gets it, and the pool is filled again", async () => {
    const first = await warmedUp();
    const [member] = waiting();
    await place.crash(s);
    s = await place.boot({ env: ON });
    expect([s.server.adoption.adopted, s.server.warm.size, waiting()]).toEqual([1, 1, [member as SandboxId]]);
    expect(await listedIds()).toEqual([first]);
    const { sandboxID } = await s.create({ metadata: { a: "b" } });
    expect(sandboxID).toBe(member as string);
    await untilOneWaits();
    expect((await s.call("GET", `/sandboxes/${sandboxID}`)).body.metadata).toEqual({ a: "b" });
  });

  test("nothing waits on where the next server wants none", async () => {
    const first = await warmedUp();
    await place.crash(s);
    s = await place.boot({ env: { BOXYARD_WARM_SANDBOXES: "0" } });
    expect([...place.world.sandboxes.keys()]).toEqual([first as SandboxId]);
  });

  test("what a server of another version has made is removed", async () => {
    const first = await warmedUp();
    const [member] = waiting();
    const of = s.server.engine.sandboxes.find(member as SandboxId);
    if (!of) throw new Error("no sandbox");
    await of.driver.relabel(of.handle, { pool: "0.0.1", team: "" });
    await place.crash(s);
    s = await place.boot({ env: ON });
    await s.server.adoption.removals;
    expect([...place.world.sandboxes.keys()]).toEqual([first as SandboxId]);
  });

  test("one whose template was built again meanwhile is removed", async () => {
    await warmedUp();
    const [member] = waiting();
    const { store, templates } = s.server.context;
    const { teamId } = s.server.firstKey;
    const { spec } = templates.resolve(teamId, "base", "templateID");
    await store.templates.put(teamId, "base", "default", { ...spec, env: { NEW: "1" } }, Date.now());
    await place.crash(s);
    s = await place.boot({ env: ON, clock });
    expect((await s.create()).sandboxID).not.toBe(member as string);
    await removedInARound(member);
  }, 60_000);

  test("one that was restored from memory waits on as such", async () => {
    const started = await startedTemplate();
    await s.create({ templateID: "started" });
    await untilOneWaits();
    const [member] = waiting();
    await place.crash(s);
    s = await place.boot({ env: ON });
    const { sandboxID } = await s.create({ templateID: "started" });
    expect(sandboxID).toBe(member as string);
    expect((await s.server.context.store.getSandbox(sandboxID as SandboxId))?.checkpointId).toBe(started);
    expect(place.world.sandboxes.get(sandboxID as SandboxId)?.agent?.areCommandsFrozen).toBe(false);
  });
});

test("all that wait end while memory is short, and none is made then", async () => {
  await warmedUp();
  const [member] = waiting();
  place.world.capacity = { ...place.world.capacity, memoryFreeBytes: Math.floor(place.world.capacity.memoryLimitBytes / 20) };
  await removedInARound(member);
  expect(s.server.warm.size).toBe(0);
}, 60_000);

test("another version of the template is never served by a sandbox of the old one", async () => {
  await warmedUp();
  const [member] = waiting();
  const { store, templates } = s.server.context;
  const { teamId } = s.server.firstKey;
  const { spec } = templates.resolve(teamId, "base", "templateID");
  await store.templates.put(teamId, "base", "default", { ...spec, env: { NEW: "1" } }, Date.now());
  await templates.load();
  expect((await s.create()).sandboxID).not.toBe(member as string);
});

test.each(["is built again", "is deleted"] as const)(
  "what waits is removed when its template %s, and the next create of a kind finds the room",
  async (how) => {
    const { store, templates } = s.server.context;
    const { teamId } = s.server.firstKey;
    const { spec } = templates.resolve(teamId, "base", "templateID");
    await store.templates.put(teamId, "mine", "default", { ...spec, env: { OLD: "1" } }, Date.now());
    await templates.load();
    const { sandboxID: first } = await s.create({ templateID: "mine" });
    await s.call("DELETE", `/sandboxes/${first}`);
    await untilOneWaits();
    const [member] = waiting();
    if (how === "is deleted") expect((await s.call("DELETE", "/templates/mine")).status).toBe(204);
    else {
      await store.templates.put(teamId, "mine", "default", { ...spec, env: { NEW: "1" } }, Date.now());
      await templates.load();
    }
    await removedInARound(member);
    await s.create();
    await untilOneWaits();
    expect(waiting().map((id) => s.server.engine.sandboxes.find(id)?.record.facts.alias)).toEqual(["base"]);
  },
  60_000,
);

test("a sandbox that one team's create has made warm is another team's from its claim on, and the first team never sees it", async () => {
  const first = await warmedUp();
  const { store, templates } = s.server.context;
  await store.templates.setPublic(templates.resolve(s.server.firstKey.teamId, "base", "templateID").templateId, true, Date.now());
  await templates.load();
  const other = await s.team("other");
  const [member] = waiting();
  const { body } = await s.call("POST", "/v2/sandboxes", { templateID: "base" }, other.headers);
  expect(body.sandboxID).toBe(member as string);
  expect(await listedIds()).toEqual([first]);
  expect(await listedIds(other.headers)).toEqual([body.sandboxID]);
  expect((await s.call("GET", `/sandboxes/${member}`)).status).toBe(404);
  expect((await s.call("GET", `/sandboxes/${first}`, undefined, other.headers)).status).toBe(404);
});
