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
    [[{ name: "data", path: "/runner" }], 'No volume can be mounted at "/runner": use an absolute path without'],
    [[{ name: "data", path: "/etc" }], "No volume can be mounted at /etc, because it would hide the system's own files"],
    [[...MOUNTS, { name: "data", path: "/usr" }], "No volume can be mounted at /usr, because"],
    [[{ name: "data", path: "/usr/bin" }], "No volume can be mounted at /usr/bin, because"],
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

test("directories below those of the system can be mounted over", async () => {
  for (const path of ["/etc/app", "/usr/local", "/usr/share/data", "/home"])
    expect((await create([{ name: "data", path }])).status).toBe(201);
});

test("a snapshot and a rollback say which volumes are not in them", async () => {
  const { sandboxID } = await s.create({ volumeMounts: MOUNTS });
  const { sandboxID: without } = await s.create();
  for (const [id, volumes] of [
    [sandboxID, { volumeMounts: MOUNTS }],
    [without, {}],
  ] as const) {
    const { body: taken } = await s.call("POST", `/sandboxes/${id}/snapshots`, {});
    const { snapshotID, volumeMounts } = taken;
    expect(volumeMounts).toEqual("volumeMounts" in volumes ? volumes.volumeMounts : undefined);
    expect((await s.call("GET", `/snapshots?sandboxID=${id}`)).body).toEqual([taken]);
    const { status, body } = await s.call("POST", `/sandboxes/${id}/rollback`, { snapshotID });
    expect([status, body]).toEqual([200, volumes]);
  }
});

const LOST = ["gone", "damaged"] as const;
function lose(how: (typeof LOST)[number]): void {
  const { volumes } = place.world;
  if (how === "gone") volumes.clear();
  for (const volume of volumes.values()) volume.damaged = true;
}
const saying = { gone: "Volume 'data' is not on this machine any more", damaged: "Volume 'data' is damaged" };

for (const how of LOST) {
  test(`a volume that is ${how} is named by what needs it: a create, a start from a snapshot, a fork, a resume and a rollback`, async () => {
    const { sandboxID } = await s.create({ volumeMounts: MOUNTS });
    const at = `/sandboxes/${sandboxID}`;
    const snapshot = (await s.call("POST", `${at}/snapshots`, { name: "full" })).body.snapshotID;
    lose(how);
    const refused = expect.stringContaining(`volumeMounts: ${saying[how]}`);
    for (const { status, body } of [await create(MOUNTS), await create(undefined, snapshot)]) {
      expect([status, body.message]).toEqual([400, refused]);
    }
    expect((await s.call("POST", `${at}/fork`, {})).body[0].error).toEqual({ code: 400, message: refused });
    expect((await s.call("POST", `${at}/pause`, {})).status).toBe(204);
    for (const [verb, body, failed] of [
      ["resume", { timeout: 60 }, "could not be resumed and stays paused"],
      ["connect", { timeout: 60 }, "could not be resumed and stays paused"],
      ["rollback", { snapshotID: snapshot }, "could not be rolled back and is paused as before"],
    ] as const) {
      const answer = await s.call("POST", `${at}/${verb}`, body);
      const message = `The sandbox ${failed}: ${saying[how]}`;
      // 503 and not 404, by which clients would take the sandbox for gone.
      expect([verb, answer.status, answer.body.message]).toEqual([verb, 503, expect.stringContaining(message)]);
      expect(answer.headers.get("should-retry")).toBe("false");
    }
    expect((await s.call("GET", at)).body.state).toBe("paused");
  });
}

test("the files of a volume that is damaged or full: the answer names the volume", async () => {
  const { token } = (await s.call("GET", `/volumes/${volumeID}`)).body;
  const put = async (path: string, bytes: number) => {
    const options = { method: "PUT", headers: { Authorization: `Bearer ${token}` }, body: new Uint8Array(bytes) };
    const answer = await fetch(`${s.url}/volumecontent/${volumeID}/file?path=${path}`, options);
    return [answer.status, ((await answer.json()) as { message: string }).message];
  };
  await s.call("PATCH", "/boxyard/volumes/data", { sizeMB: 2 });
  expect((await put("/a", 1_500_000))[0]).toBe(201);
  expect(await put("/b", 1_000_000)).toEqual([507, expect.stringContaining("Volume 'data' is full")]);
  lose("damaged");
  expect(await put("/c", 1)).toEqual([500, expect.stringContaining(saying.damaged)]);
  const named = expect.stringContaining(saying.damaged);
  for (const [method, path, body] of [
    ["POST", "/volumes", { name: "copy", from: "data" }],
    ["PATCH", "/boxyard/volumes/data", { sizeMB: 9 }],
    ["GET", "/boxyard/volumes/data/archive", undefined],
  ] as const) {
    expect([path, (await s.call(method, path, body)).body.message]).toEqual([path, named]);
  }
  lose("gone");
  expect(await put("/c", 1)).toEqual([404, expect.stringContaining(saying.gone)]);
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
