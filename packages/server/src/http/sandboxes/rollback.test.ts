import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { newSandboxId, type SandboxId } from "@boxyard/core";
import { FakeWorld } from "@boxyard/driver/fake";
import { eventually } from "@boxyard/testkit";
import { pointsOf } from "../../sandboxes/engine/transition.ts";
import { TRANSITIONS } from "../../sandboxes/transitions/index.ts";
import { holdAt, Place, sidesOf } from "../../testing/place.ts";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
let id: string;
let snapshotID: string;
beforeEach(async () => {
  s = await TestServer.start();
  id = (await s.create({ timeout: 500, metadata: { of: "mine" }, envVars: { OWN: "1" } })).sandboxID;
  fake().files.set("/work", "good");
  snapshotID = (await s.call("POST", `/sandboxes/${id}/snapshots`, {})).body.snapshotID;
  fake().files.set("/work", "bad");
});
afterEach(() => s[Symbol.asyncDispose]());

const rollback = (to = snapshotID, of = id, on = s) => on.call("POST", `/sandboxes/${of}/rollback`, { snapshotID: to });
const detail = async (of = id) => (await s.call("GET", `/sandboxes/${of}`)).body;
const fake = (of = id) => {
  const found = s.world.sandboxes.get(of);
  if (!found) throw new Error("gone");
  return found;
};
const work = () => fake().files.get("/work");

describe("a rollback", () => {
  test("goes on with the same sandbox from its snapshot", async () => {
    const { startedAt: _, ...before } = await detail();
    const askedAt = Date.now();
    expect((await rollback()).status).toBe(200);
    const { startedAt, ...after } = await detail();
    // The rest of its lifetime, from when the rollback began.
    expect(Date.parse(after.endAt)).toBeGreaterThanOrEqual(Date.parse(before.endAt));
    expect(Date.parse(after.endAt) - Date.parse(startedAt)).toBeLessThanOrEqual(Date.parse(before.endAt) - askedAt);
    // What it has used goes on counting.
    expect({ ...after, endAt: "", usage: undefined }).toEqual({ ...before, endAt: "", usage: undefined });
    expect([work(), fake().spec.from?.memory, fake().agent?.areCommandsFrozen]).toEqual(["good", true, false]);
    expect(fake().agent?.inits.at(-1)).toMatchObject({ accessToken: before.envdAccessToken, envVars: { OWN: "1" } });
    const { logs } = (await s.call("GET", `/v2/sandboxes/${id}/logs`)).body;
    expect(JSON.stringify(logs)).toContain("goes on from a snapshot");
    await eventually("nothing else is kept", () => fake().generation === undefined);
    fake().files.set("/work", "worse");
    expect([(await rollback()).status, work()]).toEqual([200, "good"]);
  });

  test("resumes a paused sandbox", async () => {
    await s.call("POST", `/sandboxes/${id}/pause`, {});
    expect([(await rollback()).status, (await detail()).state, work()]).toEqual([200, "running", "good"]);
  });

  test("leads back to the snapshot that a sandbox was made from", async () => {
    const { sandboxID } = (await s.call("POST", "/v2/sandboxes", { templateID: snapshotID })).body;
    fake(sandboxID).files.set("/work", "bad too");
    expect([(await rollback(snapshotID, sandboxID)).status, fake(sandboxID).files.get("/work")]).toEqual([200, "good"]);
  });

  test("boots from a snapshot of the disk, with the environment", async () => {
    fake().files.set("/work", "on disk");
    const { body } = await s.call("POST", `/sandboxes/${id}/snapshots`, { memory: false });
    expect([(await rollback(body.snapshotID)).status, work(), fake().spec.from?.memory]).toEqual([200, "on disk", false]);
    expect(fake().agent?.inits).toEqual([expect.objectContaining({ envVars: expect.objectContaining({ OWN: "1", FROM_TEMPLATE: "1" }) })]);
  });

  test("needs no room besides the room that the sandbox has", async () => {
    s.world.capacity = { ...s.world.capacity, memoryFreeBytes: 0 };
    await eventually("creates are refused", async () => (await s.call("POST", "/v2/sandboxes", { templateID: "base" })).status === 503);
    expect((await rollback()).status).toBe(200);
  });
});

describe("a rollback is refused", () => {
  test("to a snapshot of another sandbox, to a template, and to a name that does not exist", async () => {
    const other = (await s.create()).sandboxID;
    const theirs = (await s.call("POST", `/sandboxes/${other}/snapshots`, {})).body.snapshotID;
    expect([(await rollback(theirs)).status, (await rollback("base")).status, (await rollback("absent")).status]).toEqual([400, 400, 404]);
    expect((await rollback("", id)).status).toBe(400);
    expect((await rollback("absent")).body.message).toBe("snapshot 'absent' not found");
    expect((await rollback(snapshotID, newSandboxId())).status).toBe(404);
    expect([work(), (await detail()).state]).toEqual(["bad", "running"]);
  });
});

test("where no memory can be kept, disks are rolled back", async () => {
  const world = new FakeWorld();
  world.checkpoint = "disk";
  await using other = await TestServer.start({ world });
  const { sandboxID } = await other.create();
  const files = () => world.sandboxes.get(sandboxID)?.files;
  files()?.set("/work", "good");
  const { body } = await other.call("POST", `/sandboxes/${sandboxID}/snapshots`, { memory: false });
  files()?.set("/work", "bad");
  expect([(await rollback(body.snapshotID, sandboxID, other)).status, files()?.get("/work")]).toEqual([200, "good"]);
});

/** Points of a crash at which the next server finds the sandbox running: its old processes until the pause keeps them, its new ones once the store says so. */
const RUNS_ON: ReadonlySet<string> = new Set([
  ...["rollback intent", "rollback freeze"].flatMap((point) => [`before ${point}`, `after ${point}`]),
  "before rollback keep",
  "after rollback result",
]);

describe.each(pointsOf(TRANSITIONS.rollback))("a rollback with a fault at '%s'", (failing) => {
  test.each(sidesOf(failing, TRANSITIONS.rollback))(
    "(%s it) leaves the sandbox running as it was; after the last result, rolled back",
    async (when) => {
      await using place = new Place();
      let left = 0;
      const hook = (at: string) => (point: string) => {
        if (point === failing && at === when && left-- > 0) throw new Error("injected");
      };
      const server = await place.boot({ observer: { before: hook("before"), after: hook("after") } });
      const { sandboxID } = await server.create();
      const taken = await server.call("POST", `/sandboxes/${sandboxID}/snapshots`, {});
      place.world.sandboxes.get(sandboxID)?.files.set("/work", "since");
      left = 1;
      expect((await rollback(taken.body.snapshotID, sandboxID, server)).status).toBe(503);
      const { state } = (await server.call("GET", `/sandboxes/${sandboxID}`)).body;
      expect(state).toBe("running");
      const isDone = failing === "rollback result" && when === "after";
      expect(place.world.sandboxes.get(sandboxID)?.files.get("/work")).toBe(isDone ? undefined : "since");
      expect((await rollback(taken.body.snapshotID, sandboxID, server)).status).toBe(200);
      expect(place.world.sandboxes.get(sandboxID)?.files.has("/work")).toBe(false);
    },
  );

  test.each(sidesOf(failing, TRANSITIONS.rollback))(
    "(the server killed %s it) loses nothing, and works with the next server",
    async (when) => {
      await using place = new Place();
      const first = await place.boot();
      const { sandboxID } = await first.create();
      const { snapshotID: to } = (await first.call("POST", `/sandboxes/${sandboxID}/snapshots`, {})).body;
      await place.crash(first);
      const { observer, reached } = holdAt(failing, when);
      const second = await place.boot({ observer });
      const asked = rollback(to, sandboxID, second).catch(() => undefined);
      await reached;
      await place.crash(second);
      await asked;
      const third = await place.boot();
      const { state } = (await third.call("GET", `/sandboxes/${sandboxID}`)).body;
      expect(state).toBe(RUNS_ON.has(`${when} ${failing}`) ? "running" : "paused");
      expect(third.server.engine.sandboxes.find(sandboxID as SandboxId)?.state).toBe(state);
      expect((await rollback(to, sandboxID, third)).status).toBe(200);
    },
  );
});

test("a kill during a rollback ends the sandbox", async () => {
  s.world.faults.add("resume", { kind: "hang" });
  const asked = rollback();
  await eventually("it resumes", () => s.world.faults.calls.includes("resume"));
  expect((await s.call("DELETE", `/sandboxes/${id}`)).status).toBe(204);
  expect([(await asked).status, s.world.sandboxes.size]).toEqual([409, 0]);
});

test("two rollbacks at once run one after the other", async () => {
  expect((await Promise.all([rollback(), rollback()])).map(({ status }) => status)).toEqual([200, 200]);
  expect((await detail()).state).toBe("running");
});
