import { afterEach, beforeEach, expect, test } from "bun:test";
import { Place } from "../../testing/place.ts";
import type { TestServer } from "../../testing/test-server.ts";

let place: Place;
let s: TestServer;
beforeEach(async () => {
  place = new Place();
  s = await place.boot();
});
afterEach(() => place[Symbol.asyncDispose]());

const create = (body: object, key?: string) => s.call("POST", "/volumes", body, key === undefined ? {} : { "Idempotency-Key": key });
const ONCE = { name: "once", sizeMB: 8 };

test("a create whose answer was lost is sent again under its key, and gets the same volume; without the key the name is taken", async () => {
  const { status, body } = await create(ONCE, "k");
  expect(status).toBe(201);
  expect(await create(ONCE, "k")).toMatchObject({ status: 201, body });
  const taken = { status: 400, body: { error_code: "volume_name_taken" } };
  for (const key of [undefined, "other"]) expect(await create(ONCE, key)).toMatchObject(taken);
  expect(await create({ ...ONCE, sizeMB: 9 }, "k")).toMatchObject({ status: 422, body: { error_code: "idempotency_request_mismatch" } });
  expect((await create(ONCE, "not visible")).status).toBe(400);
  await place.crash(s);
  s = await place.boot();
  expect(await create(ONCE, "k")).toMatchObject({ status: 201, body });
});

test("the key of a volume that was deleted, or that a server has not finished, makes another one", async () => {
  const first = (await create(ONCE, "k")).body.volumeID;
  expect((await s.call("DELETE", `/volumes/${first}`)).status).toBe(204);
  const second = (await create(ONCE, "k")).body.volumeID;
  expect(second).not.toBe(first);
  await s.server.context.store.volumes.setState(second, "ready", "creating");
  await place.crash(s);
  s = await place.boot();
  const third = await create(ONCE, "k");
  expect([third.status, [first, second].includes(third.body.volumeID)]).toEqual([201, false]);
  expect((await s.call("GET", "/volumes")).body).toMatchObject([{ volumeID: third.body.volumeID }]);
});

test("of several creates under one key at the same time one makes the volume", async () => {
  const answers = await Promise.all([create(ONCE, "k"), create(ONCE, "k"), create(ONCE, "k")]);
  const made = new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.volumeID));
  expect([made.size, answers.every(({ status }) => status === 201 || status === 409)]).toEqual([1, true]);
  expect((await s.call("GET", "/volumes")).body).toHaveLength(1);
});
