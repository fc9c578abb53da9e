import { afterEach, beforeEach, expect, test } from "bun:test";
import { availableParallelism } from "node:os";
import { newSandboxId } from "@boxyard/core";
import { FakeWorld } from "@boxyard/driver/fake";
import { Place } from "../../testing/place.ts";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
let id: string;
beforeEach(async () => {
  s = await TestServer.start();
  id = (await s.create()).sandboxID;
});
afterEach(() => s[Symbol.asyncDispose]());

const MIB = 2 ** 20;
const patch = (body: object, of = id, server = s) => server.call("PATCH", `/sandboxes/${of}/resources`, body);
const spec = (of = id, world = s.world) => world.sandboxes.get(of)?.spec.resources;
const shown = async (of = id) => {
  const { cpuCount, memoryMB, diskSizeMB } = (await s.call("GET", `/sandboxes/${of}`)).body;
  return { cpuCount, memoryMB, diskSizeMB };
};

test("a create takes a size, and a running sandbox another one; the driver and the answers have it", async () => {
  const { sandboxID } = await s.create({ resources: { cpuCount: 0.5, memoryMB: 300 } });
  expect(await shown(sandboxID)).toEqual({ cpuCount: 0.5, memoryMB: 300, diskSizeMB: 10_240 });
  expect(spec(sandboxID)).toMatchObject({ cpuCount: 0.5, memoryBytes: 300 * MIB, maxProcesses: 256 });
  const { status, body } = await patch({ memoryMB: 2048, diskSizeMB: 20_000 });
  expect([status, body.memoryMB, body.diskSizeMB, body.cpuCount]).toEqual([200, 2048, 20_000, 2]);
  expect(spec()).toMatchObject({ memoryBytes: 2048 * MIB, diskBytes: 20_000 * MIB, maxProcesses: 1747 });
});

test("a pause, a fork, a snapshot and a restart of the server keep it", async () => {
  await using place = new Place();
  const first = await place.boot();
  const { sandboxID } = await first.create();
  expect((await patch({ memoryMB: 700 }, sandboxID, first)).status).toBe(200);
  await first.call("POST", `/sandboxes/${sandboxID}/pause`, {});
  await first.call("POST", `/v2/sandboxes/${sandboxID}/connect`, {});
  const [{ sandbox: copy }] = (await first.call("POST", `/sandboxes/${sandboxID}/fork`, {})).body;
  const { snapshotID } = (await first.call("POST", `/sandboxes/${sandboxID}/snapshots`, {})).body;
  const ofSnapshot = await first.create({ templateID: snapshotID });
  await place.crash(first);
  const second = await place.boot();
  for (const of of [sandboxID, copy.sandboxID, ofSnapshot.sandboxID]) {
    expect(spec(of, place.world)?.memoryBytes).toBe(700 * MIB);
    expect((await second.call("GET", `/sandboxes/${of}`)).body.memoryMB).toBe(700);
  }
});

test("what is too large, too small or in use is refused with the figure, and nothing changes", async () => {
  const before = await shown();
  Object.assign(s.world.sandboxes.get(id)?.use ?? {}, { memoryUsedBytes: 500 * MIB, diskUsedBytes: 5000 * MIB });
  s.world.capacity = { ...s.world.capacity, memoryLimitBytes: 8000 * MIB };
  for (const [body, reason, figure] of [
    [{ memoryMB: 400 }, "memory_in_use", "500 MiB"],
    [{ diskSizeMB: 4000 }, "disk_in_use", "5000 MiB"],
    [{ memoryMB: 8001 }, "size_too_large", "8000"],
    [{ cpuCount: availableParallelism() + 1 }, "size_too_large", String(availableParallelism())],
    [{ memoryMB: 127 }, undefined, "at least 128"],
    [{ cpuCount: 0 }, undefined, "at least 0.1"],
    [{}, undefined, "must have"],
  ] as const) {
    const refused = await patch(body);
    expect([refused.status, refused.body.error_code, refused.body.message]).toEqual([400, reason, expect.stringContaining(figure)]);
  }
  const create = await s.call("POST", "/v2/sandboxes", { templateID: "base", resources: { memoryMB: 9000 } });
  expect([create.status, create.body.error_code]).toEqual([400, "size_too_large"]);
  expect([await shown(), spec()?.memoryBytes]).toEqual([before, 1024 * MIB]);
});

test("more than all sandboxes together may be promised is refused, and what is given back counts", async () => {
  s.world.capacity = { ...s.world.capacity, memoryLimitBytes: 3000 * MIB };
  await using small = await TestServer.start({ world: s.world, env: { BOXYARD_MEMORY_OVERCOMMIT: "1" } });
  const [a, b] = [(await small.create()).sandboxID, (await small.create()).sandboxID];
  const refused = await patch({ memoryMB: 2500 }, a, small);
  expect([refused.status, refused.body.error_code]).toEqual([503, "sandbox_capacity_unavailable"]);
  expect((await patch({ memoryMB: 400 }, b, small)).status).toBe(200);
  expect((await patch({ memoryMB: 2500 }, a, small)).status).toBe(200);
});

test("the limits of the team hold for the new size, and less is always allowed", async () => {
  const { headers } = await s.team("limited");
  const { sandboxID } = (await s.call("POST", "/v2/sandboxes", { templateID: "base" }, headers)).body;
  const limited = await s.call("PATCH", "/admin/teams/limited", { limits: { memoryMB: 1100 } });
  expect(limited.status).toBe(200);
  const ask = (memoryMB: number) => s.call("PATCH", `/sandboxes/${sandboxID}/resources`, { memoryMB }, headers);
  expect([(await ask(1200)).status, (await ask(1100)).status, (await ask(500)).status]).toEqual([429, 200, 200]);
});

test("a paused sandbox, an unknown one, and a driver that cannot do it", async () => {
  await s.call("POST", `/sandboxes/${id}/pause`, {});
  expect((await patch({ memoryMB: 2048 })).status).toBe(409);
  expect((await patch({ memoryMB: 2048 }, newSandboxId())).status).toBe(404);
  const world = new FakeWorld();
  world.lacks.add("resize");
  await using other = await TestServer.start({ world });
  expect((await patch({ memoryMB: 2048 }, (await other.create()).sandboxID, other)).status).toBe(501);
});

test("a server that adopts a sandbox gives it the limits of its record, or takes those that it has", async () => {
  await using place = new Place();
  const first = await place.boot();
  const { sandboxID } = await first.create();
  await patch({ memoryMB: 700 }, sandboxID, first);
  const sandbox = place.world.sandboxes.get(sandboxID);
  if (!sandbox) throw new Error("gone");
  const older = { ...sandbox.spec.resources, memoryBytes: 900 * MIB };
  // As if the earlier server had died between the store and the driver.
  sandbox.spec = { ...sandbox.spec, resources: older };
  await place.crash(first);
  const second = await place.boot();
  expect(sandbox.spec.resources.memoryBytes).toBe(700 * MIB);
  sandbox.spec = { ...sandbox.spec, resources: older };
  sandbox.use.memoryUsedBytes = 800 * MIB;
  await place.crash(second);
  const third = await place.boot();
  expect((await third.call("GET", `/sandboxes/${sandboxID}`)).body.memoryMB).toBe(900);
});
