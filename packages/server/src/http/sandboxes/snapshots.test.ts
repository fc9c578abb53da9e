import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { AppError, newSandboxId, type SandboxId } from "@boxyard/core";
import { eventually } from "@boxyard/testkit";
import { BuildBench } from "../../testing/build-bench.ts";
import { Place } from "../../testing/place.ts";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
let id: string;
beforeEach(async () => {
  s = await TestServer.start();
  id = (await s.create({ metadata: { of: "source" }, envVars: { SECRET: "sesame" } })).sandboxID;
});
afterEach(() => s[Symbol.asyncDispose]());

const snapshot = (body: object = {}, of = id) => s.call("POST", `/sandboxes/${of}/snapshots`, body);
const list = async (query = "") => (await s.call("GET", `/snapshots${query}`)).body;
const remove = (snapshotID: string) => s.call("DELETE", `/templates/${encodeURIComponent(snapshotID)}`);
const create = (templateID: string, body: object = {}) => s.call("POST", "/v2/sandboxes", { templateID, ...body });
const fake = (of = id) => {
  const found = s.world.sandboxes.get(of);
  if (!found) throw new Error("gone");
  return found;
};
const stateOf = async (of = id) => (await s.call("GET", `/sandboxes/${of}`)).body.state;

describe("a snapshot", () => {
  test("without a name has the id of a template of its own, and its sandbox goes on", async () => {
    const { status, body } = await snapshot();
    const { createdAt, sizeBytes, ...said } = body;
    expect([status, said]).toEqual([201, { snapshotID: expect.stringMatching(/^[a-z0-9]{20}:default$/), names: [], sandboxID: id }]);
    const [kept] = await s.server.context.store.checkpoints.ofSandbox(id as SandboxId);
    expect([Date.parse(createdAt) >= (kept?.createdAt ?? Number.NaN), typeof sizeBytes, sizeBytes]).toEqual([true, "number", kept?.bytes]);
    expect([await stateOf(), fake().agent?.areCommandsFrozen, s.world.snapshots.size]).toEqual(["running", false, 1]);
    expect(await list()).toEqual([body]);
  });

  test("has the name that is given and its team's; the same name given again means the new snapshot from then on", async () => {
    const named = { snapshotID: "default/ready:default", names: ["default/ready"] };
    fake().files.set("/which", "first");
    expect((await snapshot({ name: "Ready" })).body).toMatchObject(named);
    fake().files.set("/which", "second");
    expect((await snapshot({ name: "ready" })).body).toMatchObject(named);
    expect((await snapshot({ name: "default/ready:v1" })).body.snapshotID).toBe("default/ready:v1");
    expect((await list("?name=ready")).length).toBe(2);
    const { sandboxID } = (await create("ready")).body;
    expect(fake(sandboxID).files.get("/which")).toBe("second");
    await s.server.sweep.once();
    expect(s.world.snapshots.size).toBe(2);
  });

  test("is used by a create as a template is, with the source's environment and what the create says", async () => {
    fake().files.set("/work", "done");
    const { snapshotID } = (await snapshot({ name: "ready" })).body;
    await s.call("DELETE", `/sandboxes/${id}`);
    const { status, body } = await create(snapshotID, { metadata: { of: "clone" }, envVars: { OWN: "1" } });
    expect(status).toBe(201);
    const clone = fake(body.sandboxID);
    expect([clone.files.get("/work"), clone.spec.from?.memory, clone.spec.image.layers]).toEqual([
      "done",
      true,
      [`sha256:${"b".repeat(64)}`],
    ]);
    const [init] = clone.agent?.inits ?? [];
    expect(init).toMatchObject({ accessToken: body.envdAccessToken, sandboxID: body.sandboxID, envVars: { SECRET: "sesame", OWN: "1" } });
    expect(init?.envVars).toMatchObject({ FROM_TEMPLATE: "1", E2B_SANDBOX_ID: body.sandboxID, E2B_TEMPLATE_ID: body.templateID });
    const { metadata, cpuCount, memoryMB } = (await s.call("GET", `/sandboxes/${body.sandboxID}`)).body;
    expect([metadata, cpuCount, memoryMB, body.alias]).toEqual([{ of: "clone" }, 2, 1024, "ready"]);
  });

  test("keeps the environment of its source out of the store's plain text", async () => {
    await snapshot();
    const specs = JSON.stringify(await s.server.context.store.templates.listSpecs());
    expect([specs.includes("sesame"), specs.includes(id)]).toEqual([false, true]);
  });

  test("of the disk alone makes sandboxes that boot", async () => {
    const { snapshotID } = (await snapshot({ memory: false })).body;
    const { sandboxID } = (await create(snapshotID)).body;
    expect(fake(sandboxID).spec.from).toEqual({ snapshot: [...s.world.snapshots.keys()][0] ?? "", memory: false });
  });

  test("is tagged, and stays out of the list of templates", async () => {
    const { snapshotID, names } = (await snapshot({ name: "ready" })).body;
    expect((await s.call("POST", "/templates/tags", { target: snapshotID, tags: ["v1"] })).status).toBe(201);
    expect(await list()).toMatchObject([{ snapshotID, names: [...names, "default/ready:v1"] }]);
    expect(await list("?name=ready:v1")).toMatchObject([{ snapshotID: "default/ready:v1", names: ["default/ready:v1"] }]);
    expect(await list("?name=ready:default")).toMatchObject([{ snapshotID, names: ["default/ready"] }]);
    const templates = (await s.call("GET", "/templates")).body.map((one: { aliases: string[] }) => one.aliases[0]);
    expect(templates).toEqual(["base"]);
    expect((await s.call("GET", "/v2/templates")).body.length).toBe(1);
    expect((await s.call("GET", "/templates/ready")).body.names).toEqual(["default/ready"]);
  });

  test("can be built on and exported, with its disk", async () => {
    const bench = new BuildBench(s);
    fake().files.set("/work", "done");
    const { snapshotID } = (await snapshot({ name: "ready" })).body;
    const { status, of } = await bench.build("on-it", {
      fromImage: undefined,
      fromTemplate: snapshotID,
      steps: [{ type: "RUN", args: ["true"] }],
    });
    expect(status).toBe("ready");
    const [version] = s.server.context.templates
      .ofTeam((await s.server.context.store.keys.list())[0]?.teamId as never)
      .flatMap(({ record, versions }) => (record.id === of.templateID ? versions : []));
    expect([version?.spec.snapshot, (version?.spec.image.layers.length ?? 0) > 2]).toEqual([undefined, true]);
    const exported = await fetch(`${s.url}/boxyard/templates/ready/archive`, { headers: { "X-API-Key": s.apiKey } });
    expect([exported.status, (await exported.bytes()).length > 1024]).toEqual([200, true]);
  });
});

describe("a snapshot is refused", () => {
  test("for an invalid request", async () => {
    for (const verb of ["pause", "snapshots"]) {
      expect([verb, (await s.call("POST", `/sandboxes/${newSandboxId()}/${verb}`, {})).status]).toEqual([verb, 404]);
      expect([verb, (await s.call("POST", `/sandboxes/nonsense/${verb}`, {})).status]).toEqual([verb, 404]);
    }
    for (const name of ["", "a b", "others/mine", "x:y:z", `mine:${crypto.randomUUID()}`]) {
      expect([name, (await snapshot({ name })).status]).toEqual([name, 400]);
    }
    expect((await s.call("GET", "/snapshots?limit=0")).status).toBe(400);
    expect((await s.call("GET", "/snapshots?nextToken=zzz")).status).toBe(400);
    expect(s.world.snapshots.size).toBe(0);
  });

  test("with the name of a template, and a template with the name of a snapshot", async () => {
    expect(await snapshot({ name: "base" })).toMatchObject({ status: 409, body: { message: expect.stringContaining("'base'") } });
    await snapshot({ name: "ready" });
    expect(await s.call("POST", "/v3/templates", { name: "ready:v2" })).toMatchObject({ status: 409 });
    expect((await list()).length).toBe(1);
  });

  test("of a sandbox that does not run, with 409", async () => {
    await s.call("POST", `/sandboxes/${id}/pause`, {});
    const message = `Sandbox '${id}' cannot be snapshotted while in 'paused' state`;
    expect(await snapshot()).toMatchObject({ status: 409, body: { message } });
  });

  test("with memory where none can be kept, with Should-Retry false; a snapshot of the disk is made", async () => {
    s.world.checkpoint = "disk";
    await using other = await TestServer.start({ world: s.world });
    const { sandboxID } = await other.create();
    const refused = await other.call("POST", `/sandboxes/${sandboxID}/snapshots`, {});
    expect([refused.status, refused.headers.get("should-retry")]).toEqual([503, "false"]);
    expect((await other.call("POST", `/sandboxes/${sandboxID}/snapshots`, { memory: false })).status).toBe(201);
  });
});

describe("a failure", () => {
  test.each([
    ["the driver", "false"],
    ["a full disk", "true"],
  ])("of %s leaves nothing, and the sandbox runs on", async (what, retry) => {
    const full = new AppError("resource_exhausted", "The disk is full", { reason: "disk_full" });
    s.world.faults.add("capture", { kind: "fail", ...(what === "a full disk" && { error: full }) });
    const { status, headers } = await snapshot();
    expect([status, headers.get("should-retry")]).toEqual([503, retry]);
    expect([await stateOf(), fake().agent?.areCommandsFrozen, s.world.snapshots.size, await list()]).toEqual(["running", false, 0, []]);
    expect((await snapshot()).status).toBe(201);
  });

  test("of the store after the capture leaves nothing", async () => {
    const { store } = s.server.context;
    const { transaction } = store;
    store.transaction = () => Promise.reject(new Error("store away"));
    expect((await snapshot({ name: "ready" })).status).toBe(500);
    store.transaction = transaction;
    expect([s.world.snapshots.size, await list(), await stateOf()]).toEqual([0, [], "running"]);
    expect((await snapshot({ name: "ready" })).status).toBe(201);
  });

  test("of the store after it has committed keeps the snapshot", async () => {
    const { store } = s.server.context;
    const { transaction } = store;
    store.transaction = async (work) => {
      await transaction.call(store, work);
      throw new Error("the answer was lost");
    };
    expect((await snapshot()).status).toBe(500);
    store.transaction = transaction;
    await s.server.context.templates.load();
    const [kept] = await list();
    expect([s.world.snapshots.size, (await create(kept.snapshotID)).status]).toEqual([1, 201]);
  });
});

describe("the list", () => {
  test("comes newest first, by its sandbox or its name, in pages that deletions do not disturb", async () => {
    const other = (await s.create()).sandboxID;
    const ids: string[] = [];
    for (const [name, of] of [
      ["one", id],
      ["two", other],
      ["two:v2", id],
    ] as const)
      ids.unshift((await snapshot({ name }, of)).body.snapshotID);
    const idsOf = (found: { snapshotID: string }[]) => found.map(({ snapshotID }) => snapshotID);
    expect(idsOf(await list())).toEqual(ids);
    expect(idsOf(await list(`?sandboxID=${other}`))).toEqual(["default/two:default"]);
    expect(idsOf(await list(`?sandboxID=${newSandboxId()}`))).toEqual([]);
    expect(idsOf(await list("?name=two"))).toEqual(["default/two:v2", "default/two:default"]);
    expect(idsOf(await list("?name=two:v2"))).toEqual(["default/two:v2"]);
    expect(idsOf(await list("?name=default%2Fone%3Adefault"))).toEqual(["default/one:default"]);
    const first = await s.call("GET", "/snapshots?limit=2");
    const second = await s.call("GET", `/snapshots?limit=2&nextToken=${first.headers.get("x-next-token")}`);
    expect([...idsOf(first.body), ...idsOf(second.body), second.headers.get("x-next-token")]).toEqual([...ids, null]);
    const seen: string[] = [];
    for (let token = ""; ; ) {
      const page = await s.call("GET", `/snapshots?limit=1${token && `&nextToken=${token}`}`);
      seen.push(...idsOf(page.body));
      for (const { snapshotID } of page.body) expect((await remove(snapshotID)).status).toBe(204);
      token = page.headers.get("x-next-token") ?? "";
      if (token === "") break;
    }
    expect([seen, await list(), s.world.snapshots.size]).toEqual([ids, [], 0]);
  });
});

describe("deleting", () => {
  test("one snapshot leaves the others of its name, and removes what the driver keeps of it", async () => {
    await snapshot({ name: "ready" });
    const { snapshotID } = (await snapshot({ name: "ready:v1" })).body;
    expect((await remove(snapshotID)).status).toBe(204);
    expect([(await list()).length, s.world.snapshots.size]).toEqual([1, 1]);
    expect((await remove(snapshotID)).status).toBe(404);
    expect((await create(snapshotID)).status).toBe(404);
    expect((await remove("ready")).status).toBe(204);
    expect([await list(), s.world.snapshots.size, (await remove("default/ready:default")).status]).toEqual([[], 0, 404]);
  });

  test("is refused while sandboxes made from it live; the source does not count", async () => {
    const { snapshotID } = (await snapshot()).body;
    const { sandboxID } = (await create(snapshotID)).body;
    const refused = await remove(snapshotID);
    expect([refused.status, refused.body.message]).toEqual([400, `The snapshot is in use by the sandboxes ${sandboxID}; end them first`]);
    await s.call("DELETE", `/sandboxes/${sandboxID}`);
    expect((await remove(snapshotID)).status).toBe(204);
    expect(await stateOf()).toBe("running");
  });

  test("of the last tag deletes the snapshot", async () => {
    await snapshot({ name: "ready:v1" });
    expect((await s.call("DELETE", "/templates/tags", { name: "ready", tags: ["v1"] })).status).toBe(204);
    expect([await list(), s.world.snapshots.size, (await s.call("GET", "/templates/ready")).status]).toEqual([[], 0, 404]);
  });

  test("while a create of it is under way fails the create, which leaves nothing", async () => {
    const { snapshotID } = (await snapshot()).body;
    const gate = s.world.faults.hold("create");
    const creating = create(snapshotID);
    await eventually("the create has begun", () => gate.reached === 1);
    s.world.snapshots.clear();
    gate.open();
    const { status, body } = await creating;
    expect([status, body.message]).toEqual([404, "The snapshot was deleted, or its files are not on this machine"]);
    expect([...s.world.sandboxes.keys()]).toEqual([id]);
  });
});

test("two snapshots at once are made one after the other; a pause waits for both", async () => {
  const gate = s.world.faults.hold("capture");
  const inQueue = (pieces: number) =>
    eventually("it waits for its turn", () => s.server.engine.sandboxes.find(id as SandboxId)?.queue.size === pieces);
  const asked = [snapshot(), snapshot({ name: "two" })];
  await inQueue(2);
  asked.push(s.call("POST", `/sandboxes/${id}/pause`, {}));
  await inQueue(3);
  gate.open();
  const answers = await Promise.all(asked);
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 204]);
  expect([(await list()).length, await stateOf()]).toEqual([2, "paused"]);
});

test("a kill during a snapshot aborts it", async () => {
  s.world.faults.add("capture", { kind: "hang" });
  const asked = snapshot();
  await eventually("it is captured", () => s.world.faults.calls.includes("capture"));
  expect((await s.call("DELETE", `/sandboxes/${id}`)).status).toBe(204);
  expect([(await asked).status, s.world.snapshots.size]).toEqual([409, 0]);
});

test("a capture to which a dead server gave no name is removed by the next server", async () => {
  await using place = new Place();
  const first = await place.boot();
  const { sandboxID } = await first.create();
  const kept = await first.call("POST", `/sandboxes/${sandboxID}/snapshots`, {});
  const { store } = first.server.context;
  const captured = Promise.withResolvers<void>();
  store.transaction = () => {
    captured.resolve();
    return new Promise(() => {});
  };
  void first.call("POST", `/sandboxes/${sandboxID}/snapshots`, {}).catch(() => {});
  await captured.promise;
  expect(place.world.snapshots.size).toBe(2);
  await place.crash(first);
  const second = await place.boot();
  await second.server.sweep.once();
  expect(place.world.snapshots.size).toBe(1);
  expect((await second.call("POST", "/v2/sandboxes", { templateID: kept.body.snapshotID })).status).toBe(201);
});

test("a snapshot that the store does not know is kept as an orphan, and removed with the orphans", async () => {
  await using place = new Place();
  const first = await place.boot();
  const { sandboxID } = await first.create();
  const kept = await first.call("POST", `/sandboxes/${sandboxID}/snapshots`, {});
  const [known] = place.world.snapshots.values();
  if (!known) throw new Error("nothing was captured");
  place.world.snapshots.set("unknown", { ...known, info: { ...known.info, id: "unknown" } });
  await place.crash(first);
  const second = await place.boot();
  await second.server.sweep.once();
  expect(place.world.snapshots.size).toBe(2);
  await place.crash(second);
  const third = await place.boot({ orphans: "remove" });
  await third.server.sweep.once();
  expect([...place.world.snapshots.keys()]).toEqual([known.info.id]);
  expect((await third.call("POST", "/v2/sandboxes", { templateID: kept.body.snapshotID })).status).toBe(201);
});

test("each snapshot has the one before as its parent, or the one that its sandbox was made from or rolled back to", async () => {
  const made: string[] = [];
  const { checkpoints } = s.server.context.store;
  /** Makes a snapshot, and returns its checkpoint's place among those made, and its parents' places. */
  const take = async (of = id) => {
    const { snapshotID } = (await snapshot({}, of)).body;
    const newest = [...s.world.snapshots.keys()].find((one) => !made.includes(one)) ?? "";
    made.push(newest);
    const parents = (await checkpoints.parents(newest)).map((one) => made.indexOf(one.id));
    return { snapshotID, parents, newest };
  };
  const first = await take();
  expect([first.parents, (await take()).parents]).toEqual([[], [0]]);
  expect((await s.call("POST", `/sandboxes/${id}/rollback`, { snapshotID: first.snapshotID })).status).toBe(200);
  expect((await take()).parents).toEqual([0]);
  const clone = (await create(first.snapshotID)).body.sandboxID;
  expect((await take(clone)).parents).toEqual([0]);
  const [copy] = (await s.call("POST", `/sandboxes/${clone}/fork`, {})).body;
  expect((await take(copy.sandbox.sandboxID)).parents).toEqual([3, 0]);
  expect(await checkpoints.find(first.newest)).toMatchObject({
    sandboxId: id,
    sequence: 1,
    state: "committed",
    memory: true,
    references: 1,
  });
});
