import { afterEach, beforeEach, expect, test } from "bun:test";
import { Place } from "../../testing/place.ts";
import type { TestServer } from "../../testing/test-server.ts";

let place: Place;
let s: TestServer;
let volume: { volumeID: string; token: string };
beforeEach(async () => {
  place = new Place();
  s = await place.boot();
  volume = (await s.call("POST", "/volumes", { name: "data", sizeMB: 8 })).body;
});
afterEach(() => place[Symbol.asyncDispose]());

const content = (method: string, part: string, query: Record<string, string>, body?: BodyInit, { volumeID, token } = volume) =>
  fetch(`${s.url}/volumecontent/${volumeID}/${part}?${new URLSearchParams(query)}`, {
    method,
    headers: { Authorization: `Bearer ${token}` },
    ...(body !== undefined && { body }),
  });
const withKey = (method: string, path: string, body?: BodyInit) =>
  fetch(s.url + path, { method, headers: { "X-API-Key": s.apiKey }, ...(body !== undefined && { body }) });

test("a volume is looked at by its id and by its name", async () => {
  const wanted = { ...volume, sizeMB: 8, usedBytes: expect.any(Number), createdAt: expect.stringMatching(/^\d{4}-.*Z$/) };
  for (const key of [volume.volumeID, "data"]) expect((await s.call("GET", `/boxyard/volumes/${key}`)).body).toEqual(wanted);
  expect((await s.call("GET", "/boxyard/volumes/none")).status).toBe(404);
  (place.world.volumes.get(volume.volumeID) as { damaged?: boolean }).damaged = true;
  const damaged = (await s.call("GET", "/boxyard/volumes/data")).body;
  expect([damaged.sizeMB, "usedBytes" in damaged]).toEqual([8, false]);
});

test("its size is changed up and down, and below what it holds the answer has the figure", async () => {
  await content("PUT", "file", { path: "/a" }, new Uint8Array(3 << 20));
  const resized = await s.call("PATCH", "/boxyard/volumes/data", { sizeMB: 100 });
  expect([resized.status, resized.body.sizeMB]).toEqual([200, 100]);
  expect((await s.call("GET", "/volumes")).body).toMatchObject([{ sizeMB: 100 }]);
  const refused = await s.call("PATCH", "/boxyard/volumes/data", { sizeMB: 2 });
  expect([refused.status, refused.body.message]).toEqual([400, expect.stringContaining("sizeMB: volume 'data' holds 3145728 bytes")]);
  expect((await s.call("PATCH", "/boxyard/volumes/data", { sizeMB: 3 })).body).toMatchObject({ sizeMB: 3, usedBytes: 3 << 20 });
  expect((await s.call("POST", "/volumes", { name: "copy", from: "data", sizeMB: 1 })).body.message).toContain("volume 'data' holds");
  for (const body of [{}, { sizeMB: 0 }, { sizeMB: "x" }]) expect((await s.call("PATCH", "/boxyard/volumes/data", body)).status).toBe(400);
});

test("a size beyond what the machine's storage has is refused with the figure, and makes nothing", async () => {
  place.world.capacity.diskLimitBytes = 1000 << 20;
  const figures = {
    status: 400,
    body: { message: expect.stringContaining("sizeMB: 1001 is more than the 1000 MiB"), error_code: "size_too_large" },
  };
  expect(await s.call("POST", "/volumes", { name: "big", sizeMB: 1001 })).toMatchObject(figures);
  expect(await s.call("POST", "/volumes", { name: "big", from: "data", sizeMB: 1001 })).toMatchObject(figures);
  expect(await s.call("PATCH", "/boxyard/volumes/data", { sizeMB: 1001 })).toMatchObject(figures);
  expect((await withKey("POST", "/boxyard/volumes?name=big&sizeMB=1001", "")).status).toBe(400);
  expect((await s.call("PATCH", "/boxyard/volumes/data", { sizeMB: 1000 })).status).toBe(200);
  expect((await s.call("GET", "/volumes")).body).toMatchObject([{ name: "data", sizeMB: 1000 }]);
});

test("a server that ends between the driver's resize and the row's shows what the driver has", async () => {
  const stored = place.world.volumes.get(volume.volumeID);
  if (!stored) throw new Error("no volume");
  stored.limitBytes = 50 << 20;
  await place.crash(s);
  s = await place.boot();
  expect((await s.server.context.store.volumes.find(volume.volumeID))?.sizeBytes).toBe(50 << 20);
});

test("an export is a tar, and an import makes another volume of it", async () => {
  await content("PUT", "file", { path: "/note", uid: "1000" }, "kept");
  const answer = await withKey("GET", "/boxyard/volumes/data/archive");
  expect([answer.status, answer.headers.get("content-type"), answer.headers.get("content-disposition")]).toEqual([
    ...[200, "application/x-tar", 'attachment; filename="data.tar"'],
  ]);
  const tar = await answer.bytes();
  const made = await withKey("POST", "/boxyard/volumes?name=restored&sizeMB=4", tar);
  const copy = (await made.json()) as typeof volume & { sizeMB: number };
  expect([made.status, copy.sizeMB]).toEqual([201, 4]);
  expect(await (await content("GET", "file", { path: "/note" }, undefined, copy)).text()).toBe("kept");
  expect(await (await content("GET", "path", { path: "/note" }, undefined, copy)).json()).toMatchObject({ uid: 1000 });
  expect((await withKey("GET", "/boxyard/volumes/none/archive")).status).toBe(404);
});

test("what is no archive makes no volume, and the name stays free", async () => {
  const send = async (query: string, body: BodyInit) => (await withKey("POST", `/boxyard/volumes?${query}`, body)).status;
  expect(await send("name=x", "no tar at all")).toBe(400);
  expect(await send("name=a%20b", "")).toBe(400);
  expect(await send("name=data", "")).toBe(400);
  expect(await send("name=x&sizeMB=0", "")).toBe(400);
  expect((await fetch(`${s.url}/boxyard/volumes?name=x`, { method: "POST", body: "x" })).status).toBe(401);
  expect((await s.call("POST", "/volumes", { name: "x" })).status).toBe(201);
});

test("only so many archives are written at a time", async () => {
  const readers: ReadableStreamDefaultReader<Uint8Array>[] = [];
  await content("PUT", "file", { path: "/a" }, new Uint8Array(7 << 20));
  const { volumes, store } = s.server.context;
  const teamId = (await store.volumes.find(volume.volumeID))?.teamId;
  if (!teamId) throw new Error("no row");
  for (let i = 0; i < 8; i++) readers.push((await volumes.export(teamId, "data", new AbortController().signal)).tar.getReader());
  expect((await withKey("GET", "/boxyard/volumes/data/archive")).status).toBe(429);
  await readers[0]?.cancel();
  expect((await withKey("GET", "/boxyard/volumes/data/archive")).status).toBe(200);
});

test("a file gets another path", async () => {
  await content("PUT", "file", { path: "/a" }, "x");
  await content("PUT", "file", { path: "/b" }, "y");
  const move = async (query: Record<string, string>) => {
    const answer = await content("POST", "path", query);
    return [answer.status, ((await answer.json()) as { path?: string; code?: string }).path];
  };
  expect(await move({ path: "/a", to: "/b" })).toEqual([409, undefined]);
  expect(await move({ path: "/a", to: "/c" })).toEqual([200, "/c"]);
  expect(await move({ path: "/none", to: "/d" })).toEqual([404, undefined]);
  expect(await move({ path: "/c", to: "/b", force: "true" })).toEqual([200, "/b"]);
});

test("volumes of another team are not found by name either", async () => {
  const { store } = s.server.context;
  const teamId = await store.ensureTeam("other", "Other");
  await store.volumes.add({ id: "theirs", teamId, name: "secret", state: "ready", sizeBytes: 2 ** 20, createdAt: 1 });
  for (const key of ["theirs", "secret"]) {
    expect((await s.call("GET", `/boxyard/volumes/${key}`)).status).toBe(404);
    expect((await s.call("PATCH", `/boxyard/volumes/${key}`, { sizeMB: 5 })).status).toBe(404);
    expect((await withKey("GET", `/boxyard/volumes/${key}/archive`)).status).toBe(404);
  }
  expect((await s.call("POST", "/v2/sandboxes", { templateID: "base", volumeMounts: [{ name: "secret", path: "/x" }] })).status).toBe(400);
});
