import { afterEach, beforeEach, expect, test } from "bun:test";
import { FakeWorld } from "@boxyard/driver/fake";
import { TestServer } from "../../testing/test-server.ts";

let world: FakeWorld;
let s: TestServer;
let id: string;
/** What the machine is set to use. */
let hosts: string[];

beforeEach(async () => {
  hosts = ["pip.example", "198.51.100.7"];
  world = new FakeWorld();
  s = await TestServer.start({ world, packageHosts: () => hosts });
  id = (await s.create()).sandboxID;
});
afterEach(() => s[Symbol.asyncDispose]());

const put = (body: unknown) => s.call("PUT", `/sandboxes/${id}/network`, body);
const shown = async (of = id) => {
  const { body } = await s.call("GET", `/sandboxes/${of}`);
  const { allowPublicTraffic: _, ...network } = body.network;
  return { ...network, open: body.allowInternetAccess };
};
const enforced = (of = id) => world.sandboxes.get(of)?.network;
const CLOSED = { internetAccess: false, denyOut: ["0.0.0.0/0"] };

test("a preset is enforced as the lists that it stands for, and shown as it was given", async () => {
  for (const [network, inForce, open] of [
    [{ preset: "none" }, CLOSED, false],
    [{ preset: "packages" }, { ...CLOSED, allowOut: hosts }, false],
    [{ preset: "packages", allowOut: ["api.example", "pip.example"] }, { ...CLOSED, allowOut: [...hosts, "api.example"] }, false],
    [{ preset: "none", denyOut: ["9.9.9.9"] }, { ...CLOSED, denyOut: ["0.0.0.0/0", "9.9.9.9"] }, false],
    [{ preset: "all", denyOut: ["9.9.9.9"] }, { internetAccess: true, denyOut: ["9.9.9.9"] }, true],
    [{ preset: "all" }, { internetAccess: true }, true],
    [{ preset: null }, { internetAccess: true }, true],
  ] as const) {
    const expected = { ...network, preset: network.preset ?? undefined, open };
    const made = (await s.create({ network })).sandboxID;
    expect([network, enforced(made), await shown(made)]).toEqual([network, inForce as never, expected]);
    expect((await put(network)).status).toBe(204);
    expect([network, enforced(), await shown()]).toEqual([network, inForce as never, expected]);
  }
});

test("an update without a preset removes the earlier one", async () => {
  await put({ preset: "packages" });
  await put({ denyOut: ["9.9.9.9"] });
  expect([enforced(), await shown()]).toEqual([
    { internetAccess: true, denyOut: ["9.9.9.9"] },
    { denyOut: ["9.9.9.9"], open: true },
  ]);
});

test("a fork has the preset of its source, with the hosts that it was given", async () => {
  await put({ preset: "packages" });
  const given = hosts;
  hosts = [];
  const forked = await s.call("POST", `/sandboxes/${id}/fork`, {});
  expect(forked.status).toBeLessThan(300);
  const copy = [...world.sandboxes.keys()].find((other) => other !== id) as string;
  expect([enforced(copy), await shown(copy)]).toEqual([
    { ...CLOSED, allowOut: given },
    { preset: "packages", open: false },
  ]);
});

test("what cannot be is refused by name, and nothing changes", async () => {
  await put({ preset: "none" });
  const many = Array.from({ length: 255 }, (_, i) => `1.2.3.${i}`);
  for (const [body, status] of [
    [{ preset: "some" }, 400],
    [{ preset: "all", allow_internet_access: false }, 400],
    [{ preset: "packages", allowOut: many }, 400],
    [{ preset: "all", allowOut: ["a.example"] }, 400],
  ] as const) {
    const refused = await put(body);
    expect([body, refused.status, refused.body.message]).toEqual([body, status, expect.stringMatching(/preset|network\.allowOut/)]);
  }
  hosts = [];
  const noRegistry = { status: 400, body: { message: expect.stringContaining("set to use no package registry") } };
  expect(await put({ preset: "packages" })).toMatchObject(noRegistry);
  expect(await s.call("POST", "/sandboxes", { templateID: "base", network: { preset: "packages" } })).toMatchObject(noRegistry);
  expect(world.sandboxes.size).toBe(1);
  expect(await shown()).toEqual({ preset: "none", open: false });
});
