import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSandboxId } from "@boxyard/core";
import { FakeWorld } from "@boxyard/driver/fake";
import { TestServer } from "../../testing/test-server.ts";

let world: FakeWorld;
let s: TestServer;
let id: string;

beforeEach(async () => {
  world = new FakeWorld();
  s = await TestServer.start({ world });
  id = (await s.create()).sandboxID;
});
afterEach(() => s[Symbol.asyncDispose]());

const put = (body: unknown, of = id) => s.call("PUT", `/sandboxes/${of}/network`, body);
const inForce = () => world.sandboxes.get(id)?.network.internetAccess;
const shown = async () => (await s.call("GET", `/sandboxes/${id}`)).body.allowInternetAccess;

test("each update replaces all that was set before", async () => {
  for (const [body, open] of [
    [{ allow_internet_access: false }, false],
    [{}, true],
    [{ denyOut: ["0.0.0.0/0"] }, false],
    [{ denyOut: ["0.0.0.0/0"], allow_internet_access: true }, false],
    [{ denyOut: ["128.0.0.0/1", "0.0.0.0/1"], allowOut: ["9.9.9.9"] }, false],
    [{ denyOut: ["9.9.9.9", "::/0"] }, true],
    [{ allowOut: [], denyOut: [], allow_internet_access: null }, true],
  ] as const) {
    expect((await put(body)).status).toBe(204);
    expect([body, inForce(), await shown()]).toEqual([body, open, open]);
  }
});

test("what cannot be enforced is refused by name, and nothing changes", async () => {
  await put({ allow_internet_access: false });
  for (const [body, named] of [
    [{ allowOut: ["a.example"] }, "network.allowOut"],
    [{ allowOut: ["a..example"], denyOut: ["0.0.0.0/0"] }, "network.allowOut"],
    [{ allowOut: ["*a.example"], denyOut: ["0.0.0.0/0"] }, "network.allowOut"],
    [{ allowOut: ["2001:db8::1"] }, "network.allowOut"],
    [{ allowOut: Array.from({ length: 257 }, () => "1.2.3.4") }, "network.allowOut"],
    [{ denyOut: Array.from({ length: 257 }, () => "1.2.3.4") }, "network.denyOut"],
    [{ denyOut: ["1.2.3.4/33"] }, "network.denyOut"],
    [{ denyOut: ["::ffff:1.2.3.4"] }, "network.denyOut"],
    [{ egressProxy: { address: "a:1" } }, "network.egressProxy"],
    [{ rules: { "a.example": [] } }, "network.rules"],
    [{ dnsServers: ["::1"] }, "network.dnsServers"],
    [{ dnsServers: Array(11).fill("1.1.1.1") }, "network.dnsServers"],
    [{ allow_internet_access: "no" }, "allow_internet_access"],
  ] as const) {
    const refused = await put(body);
    expect([refused.status, refused.body.message]).toEqual([400, expect.stringContaining(named)]);
  }
  expect((await s.call("PUT", `/sandboxes/${id}/network`)).status).toBe(400);
  expect([inForce(), await shown()]).toEqual([false, false]);
});

test("of a sandbox that is not there is 404, also with an id that none can have", async () => {
  expect((await put({}, newSandboxId())).status).toBe(404);
  expect((await put({}, "nonsense")).status).toBe(404);
  await s.call("DELETE", `/sandboxes/${id}`);
  expect((await put({})).status).toBe(404);
});

test("a driver that fails leaves the rules as they were, in the record too", async () => {
  world.faults.add("setNetwork", { kind: "fail" });
  expect((await put({ allow_internet_access: false })).status).toBe(500);
  expect([inForce(), await shown()]).toEqual([true, true]);
  expect((await s.server.context.store.listLiving()).map(({ settings }) => settings.egress.internetAccess)).toEqual([true]);
});

test("a server that adopts a sandbox enforces the rules of its record", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "boxyard-network-"));
  const first = await TestServer.start({ world, dataDir });
  id = (await first.create()).sandboxID;
  const lists = { allowOut: ["1.2.3.4"], denyOut: ["9.0.0.0/8", "::/0"] };
  expect((await first.call("PUT", `/sandboxes/${id}/network`, { allow_internet_access: false, ...lists })).status).toBe(204);
  // As if the earlier server had died between the store and the driver.
  const sandbox = world.sandboxes.get(id);
  if (sandbox) sandbox.network = { internetAccess: true };
  await first.stop();
  await using second = await TestServer.start({ world, dataDir });
  expect(world.sandboxes.get(id)?.network).toEqual({ internetAccess: false, ...lists });
  expect((await second.call("GET", `/sandboxes/${id}`)).body).toMatchObject({ allowInternetAccess: false, network: lists });
});
