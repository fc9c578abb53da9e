import { afterEach, beforeEach, expect, test } from "bun:test";
import { FakeDriver } from "@boxyard/driver/fake";
import { Place } from "../../testing/place.ts";
import type { TestServer } from "../../testing/test-server.ts";

let place: Place;
let s: TestServer;
beforeEach(async () => {
  place = new Place();
  s = await place.boot();
});
afterEach(() => place[Symbol.asyncDispose]());

const make = (name: string, more: object = {}) => s.call("POST", "/volumes", { name, ...more });

test("a volume is made, listed with its size and use, found by its id and deleted", async () => {
  const made = await make("data", { sizeMB: 64 });
  const { volumeID, token } = made.body;
  expect([made.status, made.body]).toEqual([201, { volumeID: expect.stringMatching(/^[0-9a-f-]{36}$/), name: "data", token }]);
  expect(token).toMatch(/^[0-9a-f]{64}$/);
  expect((await make("more")).status).toBe(201);
  expect((await s.call("GET", "/volumes")).body).toEqual([
    { volumeID, name: "data", sizeMB: 64, usedBytes: expect.any(Number) },
    { volumeID: expect.any(String), name: "more", sizeMB: 10_240, usedBytes: expect.any(Number) },
  ]);
  expect((await s.call("GET", `/volumes/${volumeID}`)).body).toEqual(made.body);
  expect((await s.call("DELETE", `/volumes/${volumeID}`)).status).toBe(204);
  for (const method of ["GET", "DELETE"]) expect((await s.call(method, `/volumes/${volumeID}`)).status).toBe(404);
  expect(place.world.volumes.size).toBe(1);
});

test("a name that is taken or malformed, and a bad size, are 400", async () => {
  await make("data");
  const again = await make("data");
  expect([again.status, again.body.message]).toEqual([400, "name: there is a volume 'data' already: use it, or choose another name"]);
  for (const name of ["", "a b", "a/b", "é", "x".repeat(129)]) expect([name, (await make(name)).status]).toEqual([name, 400]);
  for (const sizeMB of [0, -1, 1.5, 2 ** 31]) expect([sizeMB, (await make("other", { sizeMB })).status]).toEqual([sizeMB, 400]);
  const raced = await Promise.all(["x", "x", "x"].map((name) => make(name)));
  expect(raced.map(({ status }) => status).sort()).toEqual([201, 400, 400]);
  expect(place.world.volumes.size).toBe(2);
});

test("a copy has the files of its source, and its size", async () => {
  const { volumeID } = (await make("source", { sizeMB: 3 })).body;
  const driver = new FakeDriver(place.world).volumes.content;
  await driver.write(volumeID, "a.txt", new Blob(["hello"]).stream(), { signal: new AbortController().signal });
  const copy = await make("copy", { from: "source" });
  expect(copy.status).toBe(201);
  expect((await driver.stat(copy.body.volumeID, "a.txt")).sizeBytes).toBe(5);
  expect((await s.call("GET", "/volumes")).body[1]).toMatchObject({ name: "copy", sizeMB: 3 });
  expect((await make("third", { from: "none" })).status).toBe(404);
});

test("a create that fails in the driver leaves nothing, and the name is free", async () => {
  place.world.faults.add("createVolume", { kind: "fail" });
  expect((await make("data")).status).toBe(500);
  expect((await s.call("GET", "/volumes")).body).toEqual([]);
  expect((await make("data")).status).toBe(201);
});

test("a removal that the driver fails can be repeated", async () => {
  const { volumeID } = (await make("data")).body;
  place.world.faults.add("removeVolume", { kind: "fail" });
  expect((await s.call("DELETE", `/volumes/${volumeID}`)).status).toBe(500);
  expect((await s.call("GET", `/volumes/${volumeID}`)).status).toBe(404);
  expect((await s.call("DELETE", `/volumes/${volumeID}`)).status).toBe(204);
  expect([place.world.volumes.size, (await make("data")).status]).toEqual([0, 201]);
});

test("a restart removes what was half made or half removed, and leaves the others and unknown ones alone", async () => {
  const kept = (await make("kept")).body;
  const { store } = s.server.context;
  const { teamId } = (await store.volumes.find(kept.volumeID)) ?? {};
  if (!teamId) throw new Error("no row");
  for (const state of ["creating", "deleting"] as const) {
    await store.volumes.add({ id: state, teamId, name: state, state, sizeBytes: 2 ** 20, createdAt: 1 });
  }
  for (const id of ["creating", "deleting", "unknown"]) await new FakeDriver(place.world).volumes.create(id, { limitBytes: 2 ** 20 });
  await place.crash(s);
  s = await place.boot();
  expect([...place.world.volumes.keys()].sort()).toEqual([kept.volumeID, "unknown"].sort());
  expect((await s.server.context.store.volumes.list()).map(({ name }) => name)).toEqual(["kept"]);
  // The token is derived, so it outlives the server.
  expect((await s.call("GET", `/volumes/${kept.volumeID}`)).body).toEqual(kept);
});

test("volumes of another team are not found", async () => {
  const { store } = s.server.context;
  const teamId = await store.ensureTeam("other", "Other");
  await store.volumes.add({ id: "theirs", teamId, name: "theirs", state: "ready", sizeBytes: 2 ** 20, createdAt: 1 });
  expect((await s.call("GET", "/volumes")).body).toEqual([]);
  for (const method of ["GET", "DELETE"]) expect((await s.call(method, "/volumes/theirs")).status).toBe(404);
  expect((await make("mine", { from: "theirs" })).status).toBe(404);
});

test("a server without volumes says so", async () => {
  await s.stop();
  place.world.lacks.add("volumes");
  s = await place.boot();
  const refused = await make("data");
  expect([refused.status, refused.body.message]).toEqual([501, "This server has no volumes"]);
  expect((await s.call("GET", "/volumes")).body).toEqual([]);
});
