import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { AppError, newSandboxId, type SandboxId } from "@boxyard/core";
import { FakeWorld } from "@boxyard/driver/fake";
import { eventually } from "@boxyard/testkit";
import { pointsOf } from "../../sandboxes/engine/transition.ts";
import { OPERATIONS } from "../../sandboxes/operations.ts";
import { TRANSITIONS } from "../../sandboxes/transitions/index.ts";
import { holdAt, Place, sidesOf } from "../../testing/place.ts";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
let id: string;
let token: string;
const OF_SOURCE = { metadata: { of: "source" }, envVars: { OWN: "1" }, autoPause: true, network: { allowPublicTraffic: false } };
beforeEach(async () => {
  s = await TestServer.start();
  const created = await s.create(OF_SOURCE);
  [id, token] = [created.sandboxID, created.envdAccessToken];
});
afterEach(() => s[Symbol.asyncDispose]());

interface Entry {
  readonly sandbox?: { sandboxID: string; envdAccessToken: string; trafficAccessToken?: string; templateID: string };
  readonly error?: { code: number; message: string };
}
const fork = (body?: object, headers = {}) => s.call("POST", `/sandboxes/${id}/fork`, body, headers);
const detail = async (of = id) => (await s.call("GET", `/sandboxes/${of}`)).body;
const idsOf = (entries: readonly Entry[]) => entries.flatMap(({ sandbox }) => (sandbox ? [sandbox.sandboxID] : []));
const captures = () => s.world.faults.calls.filter((verb) => verb === "capture").length;
const fake = (of = id) => {
  const found = s.world.sandboxes.get(of);
  if (!found) throw new Error("gone");
  return found;
};

describe("a fork", () => {
  test.each([[undefined], [{}]])("with the body %j makes one copy with ids, tokens and a lifetime of its own", async (body) => {
    fake().files.set("/work", "done");
    const from = Date.now();
    const { status, body: entries } = await fork(body);
    const [{ sandbox: copy }] = entries;
    expect([status, entries.length, copy.sandboxID === id, copy.envdAccessToken === token]).toEqual([201, 1, false, false]);
    const { metadata, endAt, state, lifecycle, network } = await detail(copy.sandboxID);
    expect({ metadata, state, lifecycle, network }).toMatchObject({
      metadata: OF_SOURCE.metadata,
      state: "running",
      network: OF_SOURCE.network,
    });
    expect([lifecycle.onTimeout, typeof copy.trafficAccessToken]).toEqual(["pause", "string"]);
    expect(Date.parse(endAt) - 300_000).toBeWithin(from, Date.now() + 1);
    const { files, agent, spec } = fake(copy.sandboxID);
    expect([files.get("/work"), spec.from?.memory, spec.agent.initKey === fake().spec.agent.initKey]).toEqual(["done", true, false]);
    expect(agent?.inits[0]).toMatchObject({ accessToken: copy.envdAccessToken, envVars: { OWN: "1", FROM_TEMPLATE: "1" } });
  });

  test("makes all copies of one capture, which is removed then; the source goes on", async () => {
    const { body } = await fork({ count: 12, timeout: 60 });
    expect([new Set(idsOf(body)).size, captures(), s.world.snapshots.size]).toEqual([12, 1, 0]);
    expect([(await detail()).state, fake().agent?.areCommandsFrozen, (await s.call("GET", "/snapshots")).body]).toEqual([
      "running",
      false,
      [],
    ]);
    expect((await s.call("DELETE", `/sandboxes/${id}`)).status).toBe(204);
    expect((await detail(idsOf(body)[3])).state).toBe("running");
  });

  test("gives a sandbox or an error for each copy", async () => {
    s.world.faults.add("start", { kind: "fail", times: 2 });
    const { status, body } = await fork({ count: 5 });
    expect([status, body.length, idsOf(body).length]).toEqual([201, 5, 3]);
    const failed = body.filter(({ error }: Entry) => error).map(({ error }: Entry) => error);
    expect(failed).toEqual([1, 2].map(() => ({ code: 500, message: expect.stringContaining("could not be created") })));
    expect(s.world.sandboxes.size).toBe(4);
  });

  test("makes as many copies as there are places, and is refused when there is none", async () => {
    await using small = await TestServer.start({ env: { BOXYARD_MAX_SANDBOXES: "3" } });
    const { sandboxID } = await small.create();
    const { body } = await small.call("POST", `/sandboxes/${sandboxID}/fork`, { count: 4 });
    expect([idsOf(body).length, body.map(({ error }: Entry) => error?.code).filter(Boolean)]).toEqual([2, [429, 429]]);
    const refused = await small.call("POST", `/sandboxes/${sandboxID}/fork`, {});
    expect([refused.status, small.world.faults.calls.filter((verb) => verb === "capture").length]).toEqual([429, 1]);
  });

  test("with an idempotency key is made once", async () => {
    const key = { "Idempotency-Key": "fork-1" };
    const first = await fork({ count: 3 }, key);
    const again = await fork({ count: 3 }, key);
    expect([again.status, idsOf(again.body), captures()]).toEqual([201, idsOf(first.body), 1]);
    expect((await fork({ count: 2 }, key)).status).toBe(422);
    expect(s.world.sandboxes.size).toBe(4);
  });
});

describe("a fork is refused", () => {
  test("for an invalid request", async () => {
    for (const count of [0, 101, 1.5, "x"]) expect([count, (await fork({ count })).status]).toEqual([count, 400]);
    expect((await fork({ timeout: 10 ** 9 })).status).toBe(400);
    expect((await s.call("POST", `/sandboxes/${newSandboxId()}/fork`, {})).status).toBe(404);
    expect((await s.call("POST", "/sandboxes/nonsense/fork", {})).status).toBe(404);
  });

  test("of a paused sandbox", async () => {
    await s.call("POST", `/sandboxes/${id}/pause`, {});
    expect(await fork({})).toMatchObject({ status: 409, body: { message: `Sandbox '${id}' cannot be forked while in 'paused' state` } });
  });

  test("where no memory can be kept", async () => {
    const world = new FakeWorld();
    world.checkpoint = "disk";
    await using other = await TestServer.start({ world });
    const { sandboxID } = await other.create();
    const { status, headers } = await other.call("POST", `/sandboxes/${sandboxID}/fork`, {});
    expect([status, headers.get("should-retry"), world.sandboxes.size]).toEqual([503, "false", 1]);
  });
});

describe("a fork that fails", () => {
  test.each([
    ["a fault of the driver", undefined, "false"],
    ["a full disk", new AppError("resource_exhausted", "The disk is full", { reason: "disk_full" }), "true"],
  ])("in the capture by %s leaves nothing, and the source runs on", async (_what, error, retry) => {
    s.world.faults.add("capture", { kind: "fail", ...(error && { error }) });
    const { status, headers } = await fork({ count: 3 });
    expect([status, headers.get("should-retry")]).toEqual([503, retry]);
    expect([(await detail()).state, fake().agent?.areCommandsFrozen, s.world.snapshots.size, s.world.sandboxes.size]).toEqual([
      "running",
      false,
      0,
      1,
    ]);
  });

  test("because its source is killed during the capture leaves no copy; a kill after the capture does not make it fail", async () => {
    s.world.faults.add("capture", { kind: "hang" });
    const hanging = fork({ count: 2 });
    await eventually("it is captured", () => captures() === 1);
    expect((await s.call("DELETE", `/sandboxes/${id}`)).status).toBe(204);
    expect([(await hanging).status, s.world.sandboxes.size, s.world.snapshots.size]).toEqual([409, 0, 0]);
    id = (await s.create()).sandboxID;
    const gate = s.world.faults.hold("create");
    const working = fork({ count: 2 });
    await eventually("copies are made", () => s.world.sandboxes.size > 1);
    expect((await s.call("DELETE", `/sandboxes/${id}`)).status).toBe(204);
    gate.open();
    expect(idsOf((await working).body).length).toBe(2);
  });

  test("because its client disconnects leaves no copy", async () => {
    s.world.faults.add("create", { kind: "hang", times: 3 });
    const gone = new AbortController();
    const asked = fetch(`${s.url}/sandboxes/${id}/fork`, {
      method: "POST",
      headers: { "X-API-Key": s.apiKey },
      body: JSON.stringify({ count: 3 }),
      signal: gone.signal,
    }).catch(() => undefined);
    await eventually("it is captured", () => s.world.snapshots.size === 1);
    gone.abort();
    await asked;
    await eventually("nothing is left", () => s.world.sandboxes.size === 1 && s.world.snapshots.size === 0);
    expect((await s.call("GET", "/v2/sandboxes")).body.length).toBe(1);
  });
});

test("a pause during a fork waits for the capture alone, and a fork during a pause for its end", async () => {
  const inQueue = () => s.server.engine.sandboxes.find(id as SandboxId)?.queue.size;
  const capture = s.world.faults.hold("capture");
  const asked = fork({ count: 2 });
  await eventually("it is captured", () => capture.reached === 1);
  const meanwhile = s.call("POST", `/sandboxes/${id}/pause`, {});
  await eventually("the pause waits for its turn", () => inQueue() === 2);
  capture.open();
  const [forked, paused] = await Promise.all([asked, meanwhile]);
  expect([idsOf(forked.body).length, paused.status]).toEqual([2, 204]);
  await s.call("POST", `/sandboxes/${id}/connect`, { timeout: 60 });
  const keep = s.world.faults.hold("pause");
  const pausing = s.call("POST", `/sandboxes/${id}/pause`, {});
  await eventually("it pauses", async () => (await detail()).state === "paused");
  const late = fork({});
  await eventually("the fork waits for its turn", () => inQueue() === 2);
  keep.open();
  expect([(await late).status, (await pausing).status]).toEqual([409, 204]);
});

const OF_FORK = [TRANSITIONS.snapshot, TRANSITIONS.create, OPERATIONS.fork] as const;
/** Every point of a fork and of its transitions. */
const POINTS = OF_FORK.flatMap(pointsOf);
const places = OF_FORK.flatMap((of) => pointsOf(of).map((point) => [point, sidesOf(point, of)] as const));
describe.each(places)("a fork with a fault at '%s'", (failing, sides) => {
  test.each(sides)("(%s it) leaves no copy without a result for the client, and no snapshot", async (when) => {
    await using place = new Place();
    let left = 0;
    const hook = (at: string) => (point: string) => {
      if (point === failing && at === when && left-- > 0) throw new Error("injected");
    };
    const server = await place.boot({ observer: { before: hook("before"), after: hook("after") } });
    const { sandboxID } = await server.create();
    const ask = () => server.call("POST", `/sandboxes/${sandboxID}/fork`, { count: 2 });
    left = 1;
    const { status, body } = await ask();
    const isOfCopy = failing.startsWith("create ");
    expect(status).toBe(isOfCopy ? 201 : 503);
    const made = isOfCopy ? idsOf(body) : [];
    expect(made).toHaveLength(isOfCopy ? 1 : 0);
    await eventually("nothing else is left", () => place.world.sandboxes.size === 1 + made.length && place.world.snapshots.size === 0);
    expect((await server.call("GET", `/sandboxes/${sandboxID}`)).body.state).toBe("running");
    expect(idsOf((await ask()).body)).toHaveLength(2);
  });
});

// The others are tried below, for forks under a key.
test.each(OF_FORK.flatMap((of) => pointsOf(of).slice(-1)))(
  "after a kill during a fork (before %s), the next server removes what is left",
  async (point) => {
    await using place = new Place();
    const first = await place.boot();
    const { sandboxID } = await first.create();
    await place.crash(first);
    const { observer, reached } = holdAt(point);
    const second = await place.boot({ observer });
    const asked = second.call("POST", `/sandboxes/${sandboxID}/fork`, { count: 3 }).catch(() => undefined);
    await reached;
    await place.crash(second);
    await asked;
    const third = await place.boot();
    await third.server.adoption.removals;
    await third.server.sweep.once();
    const { sandboxes, snapshots } = place.world;
    expect([sandboxes.has(sandboxID), sandboxes.size, snapshots.size]).toEqual([true, 1, 0]);
    expect(idsOf((await third.call("POST", `/sandboxes/${sandboxID}/fork`, { count: 2 })).body).length).toBe(2);
  },
);

/** An observer that holds the transition that comes to the point as the `nth`, for ever. */
function holdNth(point: string, nth: number) {
  const reached = Promise.withResolvers<void>();
  let left = nth;
  const before = (name: string) => {
    if (name !== point || --left !== 0) return undefined;
    reached.resolve();
    return new Promise<void>(() => {});
  };
  return { observer: { before }, reached: reached.promise };
}

describe("a fork of ten whose server is killed", () => {
  const KEY = { "Idempotency-Key": "ten" };
  const ask = (server: TestServer, of: string) => server.call("POST", `/sandboxes/${of}/fork`, { count: 10 }, KEY);
  const ofSixth = pointsOf(TRANSITIONS.create).map((point) => [point, 6] as const);

  test.each([...POINTS.map((point) => [point, 1] as const), ...ofSixth])(
    "(before '%s', time %d) leaves none; the same key gets ten",
    async (point, nth) => {
      await using place = new Place();
      const first = await place.boot();
      const { sandboxID } = await first.create();
      await place.crash(first);
      const { observer, reached } = holdNth(point, nth);
      const second = await place.boot({ observer });
      const asked = ask(second, sandboxID).catch(() => undefined);
      await reached;
      const running = () => second.server.engine.sandboxes.all().filter(({ state }) => state === "running").length;
      // All copies but the one that is held.
      if (nth > 1) await eventually("nine copies run", () => running() === 10);
      await place.crash(second);
      await asked;
      const third = await place.boot();
      await third.server.adoption.removals;
      await third.server.sweep.once();
      expect([[...place.world.sandboxes.keys()], place.world.snapshots.size]).toEqual([[sandboxID], 0]);
      expect(await third.server.context.store.operations.listUnfinished()).toEqual([]);
      const told = idsOf((await ask(third, sandboxID)).body);
      expect([new Set(told).size, place.world.sandboxes.size]).toEqual([10, 11]);
      expect(idsOf((await ask(third, sandboxID)).body)).toEqual(told);
    },
  );

  test("once its result is written leaves ten, and the same key is told which", async () => {
    await using place = new Place();
    const { observer, reached } = holdAt("fork result", "after");
    const first = await place.boot({ observer });
    const { sandboxID } = await first.create();
    place.world.faults.add("start", { kind: "fail" });
    const asked = ask(first, sandboxID).catch(() => undefined);
    await reached;
    await place.crash(first);
    await asked;
    const second = await place.boot();
    await second.server.sweep.once();
    const { status, body } = await ask(second, sandboxID);
    const told = idsOf(body);
    expect([status, told.length, place.world.snapshots.size]).toEqual([201, 9, 0]);
    expect([...place.world.sandboxes.keys()].sort()).toEqual([sandboxID, ...told].sort());
    // The copy that could not be made is told as the first answer would have told it.
    expect(body.flatMap(({ error }: Entry) => error ?? [])).toEqual([
      { code: 500, message: expect.stringContaining("could not be created") },
    ]);
    expect((await second.call("GET", `/sandboxes/${told[0]}`)).body.state).toBe("running");
  });
});
