import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { digestOf, FakeDriver, FakeWorld, makeTar } from "@boxyard/driver/fake";
import { Pins } from "../images/pins.ts";
import { exportArchive, importArchive } from "../registry/index.ts";
import { NO_SETTINGS } from "../registry/testing/no-settings.ts";
import { BuildBench } from "../testing/build-bench.ts";
import { Place } from "../testing/place.ts";
import type { TestServer } from "../testing/test-server.ts";

/** A server whose driver is on another machine and lacks every optional capability. */
let place: Place;
let s: TestServer;
beforeEach(async () => {
  place = new Place();
  for (const name of ["freeze", "network", "images", "snapshots", "localFiles"] as const) place.world.lacks.add(name);
  place.world.checkpoint = "none";
  s = await place.boot();
});
afterEach(() => place[Symbol.asyncDispose]());

test("sandboxes are created, found again after a restart and removed", async () => {
  const { sandboxID } = await s.create();
  await place.crash(s);
  s = await place.boot();
  expect((await s.call("GET", `/sandboxes/${sandboxID}`)).body.state).toBe("running");
  expect((await s.call("DELETE", `/sandboxes/${sandboxID}`)).status).toBe(204);
  expect(place.world.sandboxes.size).toBe(0);
});

test("a verb without its capability is 501 with the reason, and the sandbox stays as before", async () => {
  const { sandboxID } = await s.create();
  const path = `/sandboxes/${sandboxID}`;
  const before = (await s.call("GET", path)).body;
  for (const [method, verb, body, message] of [
    ["PUT", "network", { allow_internet_access: false }, "The network of a running sandbox cannot be changed on this server"],
    ["POST", "pause", {}, "Sandboxes cannot be paused on this server"],
    ["POST", "pause", { memory: false }, "Sandboxes cannot be paused on this server"],
  ] as const) {
    const { status, body: answer } = await s.call(method, `${path}/${verb}`, body);
    expect([verb, status, answer.message]).toEqual([verb, 501, message]);
  }
  expect((await s.call("GET", path)).body).toEqual(before);
  for (const verb of ["snapshots", "fork"]) {
    expect([verb, (await s.call("POST", `${path}/${verb}`, {})).status]).toEqual([verb, 501]);
    expect((await s.call("GET", path)).body).toEqual(before);
  }
});

test("the policy of a create reaches the driver anyway", async () => {
  const { sandboxID } = await s.create({ allow_internet_access: false });
  expect(place.world.sandboxes.get(sandboxID)?.network).toEqual({ internetAccess: false });
});

test("a template cannot be built, which the request for it says", async () => {
  const bench = new BuildBench(s);
  const { status, body } = await bench.start(await bench.request("app"));
  expect([status, body.message]).toEqual([501, expect.stringContaining("Templates cannot be built on this server")]);
});

test("if sandboxes can only have one layer, the request for a template is refused with this reason", async () => {
  await using flat = new Place();
  flat.world.maxLayers = 1;
  const server = await flat.boot();
  const bench = new BuildBench(server);
  const { status, body } = await bench.start(await bench.request("app"));
  expect([status, body.message]).toEqual([
    501,
    "Templates cannot be built on this server: its driver's sandboxes stand on one layer at most",
  ]);
});

test("a port that listens on loopback only is refused like a closed port", async () => {
  const { sandboxID } = await s.create();
  const headers = { "E2b-Sandbox-Id": sandboxID, "E2b-Sandbox-Port": "9" };
  expect((await fetch(`${s.url}/`, { headers })).status).toBe(502);
});

test("an archive is imported although the driver opens no file of the server's machine", async () => {
  const directory = await mkdtemp(join(tmpdir(), "boxyard-capabilities-"));
  const signal = new AbortController().signal;
  const { images: source } = new FakeDriver();
  const tar = makeTar([{ path: "file", text: "one" }]);
  const { digest } = await source.importLayer(new Blob([tar]).stream(), { signal });
  const archive = await exportArchive({ image: { layers: [digest], settings: NO_SETTINGS }, images: source, signal, name: "one:latest" });
  const world = new FakeWorld();
  world.lacks.add("localFiles");
  const { images } = new FakeDriver(world);
  await using installed = await importArchive({ archive: archive.tar, images, pins: new Pins(), directory, signal });
  expect(installed.image.layers).toEqual([digestOf(tar)]);
  expect(await images.hasLayer(digest)).toBe(true);
  await rm(directory, { recursive: true });
});
