import { afterEach, beforeEach, expect, test } from "bun:test";
import { Place } from "../../testing/place.ts";
import type { TestServer } from "../../testing/test-server.ts";

let place: Place;
let s: TestServer;
let volumeID: string;
const MOUNTS = [{ name: "data", path: "/data" }];
beforeEach(async () => {
  place = new Place();
  place.world.checkpoint = "memory";
  s = await place.boot();
  volumeID = (await s.call("POST", "/volumes", { name: "data" })).body.volumeID;
});
afterEach(() => place[Symbol.asyncDispose]());

const create = (volumeMounts: unknown, templateID = "base") => s.call("POST", "/v2/sandboxes", { templateID, volumeMounts });

test("a sandbox has the volumes that its create names, and shows them", async () => {
  const volumeMounts = [...MOUNTS, { name: "data", path: "/same", readOnly: true }];
  const { sandboxID } = await s.create({ volumeMounts });
  expect(place.world.sandboxes.get(sandboxID as never)?.spec.volumes).toEqual([
    { volume: volumeID, path: "/data", readOnly: false },
    { volume: volumeID, path: "/same", readOnly: true },
  ]);
  expect((await s.call("GET", `/sandboxes/${sandboxID}`)).body.volumeMounts).toEqual(volumeMounts);
  expect((await s.call("GET", "/v2/sandboxes")).body[0].volumeMounts).toEqual(volumeMounts);
  const { sandboxID: plain } = await s.create({ volumeMounts: [] });
  expect((await s.call("GET", `/sandboxes/${plain}`)).body).not.toHaveProperty("volumeMounts");
});

test("mounts that cannot be made are 400 and name the field", async () => {
  for (const [mounts, text] of [
    [[{ name: "none", path: "/v" }], "there is no volume 'none'"],
    [[{ name: "data", path: "v" }], 'No volume can be mounted at "v"'],
    [[{ name: "data", path: "/a/../b" }], 'No volume can be mounted at "/a/../b"'],
    [[{ name: "data", path: "/proc/x" }], 'No volume can be mounted at "/proc/x"'],
    [[...MOUNTS, ...MOUNTS], "Two volumes cannot be mounted at /data and at /data"],
    [[...MOUNTS, { name: "data", path: "/data/x" }], "Two volumes cannot be mounted at"],
    [Array.from({ length: 33 }, (_, i) => ({ name: "data", path: `/m${i}` })), "A sandbox has at most 32 volumes"],
  ] as const) {
    const { status, body } = await create(mounts);
    expect([status, body.message]).toEqual([400, expect.stringContaining(`volumeMounts: ${text}`)]);
  }
  expect(place.world.sandboxes.size).toBe(0);
});

test("a volume is not deleted while a sandbox has it, a paused one too", async () => {
  const { sandboxID } = await s.create({ volumeMounts: MOUNTS });
  const refused = async () => {
    const { status, body } = await s.call("DELETE", `/volumes/${volumeID}`);
    expect([status, body.message]).toEqual([409, expect.stringContaining(sandboxID)]);
    expect((await s.call("GET", `/volumes/${volumeID}`)).status).toBe(200);
  };
  await refused();
  expect((await s.call("POST", `/sandboxes/${sandboxID}/pause`, {})).status).toBe(204);
  await refused();
  expect((await s.call("POST", `/sandboxes/${sandboxID}/resume`, { timeout: 60 })).status).toBe(201);
  expect((await s.call("DELETE", `/sandboxes/${sandboxID}`)).status).toBe(204);
  expect((await s.call("DELETE", `/volumes/${volumeID}`)).status).toBe(204);
});

test("a snapshot with memory brings its volumes, one of the disk those that are asked for; forks have the source's", async () => {
  const { sandboxID } = await s.create({ volumeMounts: MOUNTS });
  const detail = async (id: string) => (await s.call("GET", `/sandboxes/${id}`)).body.volumeMounts;
  const full = (await s.call("POST", `/sandboxes/${sandboxID}/snapshots`, { name: "full" })).body.snapshotID;
  expect(await detail((await create(undefined, full)).body.sandboxID)).toEqual(MOUNTS);
  expect(await detail((await create(MOUNTS, full)).body.sandboxID)).toEqual(MOUNTS);
  const other = await create([{ name: "data", path: "/other" }], full);
  expect([other.status, other.body.message]).toEqual([400, expect.stringContaining("volumeMounts: a snapshot with memory")]);
  const disk = (await s.call("POST", `/sandboxes/${sandboxID}/snapshots`, { name: "disk", memory: false })).body.snapshotID;
  expect(await detail((await create(undefined, disk)).body.sandboxID)).toBeUndefined();
  expect(await detail((await create([{ name: "data", path: "/other" }], disk)).body.sandboxID)).toEqual([{ name: "data", path: "/other" }]);
  const fork = await s.call("POST", `/sandboxes/${sandboxID}/fork`, {});
  expect(await detail(fork.body[0].sandbox.sandboxID)).toEqual(MOUNTS);
});

test("a volume that is lost is named by the create that needs it", async () => {
  place.world.volumes.clear();
  const { status, body } = await create(MOUNTS);
  expect([status, body.message]).toEqual([404, expect.stringContaining(volumeID)]);
});

test("a server without volumes refuses mounts", async () => {
  await s.stop();
  place.world.lacks.add("volumes");
  s = await place.boot();
  expect((await create(MOUNTS)).status).toBe(501);
});

test("an adopted orphan keeps its volumes", async () => {
  const { sandboxID } = await s.create({ volumeMounts: MOUNTS });
  await place.crash(s);
  const { rm } = await import("node:fs/promises");
  for (const end of ["", "-wal", "-shm"]) await rm(`${s.config.dataDir}/boxyard.db${end}`, { force: true });
  s = await place.boot({ orphans: "adopt" });
  expect((await s.call("GET", `/sandboxes/${sandboxID}`)).body.volumeMounts).toEqual([{ name: volumeID, path: "/data" }]);
});
