import { afterEach, beforeEach, expect, test } from "bun:test";
import { FakeClock } from "@boxyard/core";
import { FakeDriver, FakeWorld } from "@boxyard/driver/fake";
import { TestServer } from "../testing/test-server.ts";
import type { Choose } from "./placement.ts";

/** A server with two nodes. New sandboxes of users are made on them by turns: the first at home, the second on the other, and so on. */
let s: TestServer;
let home: FakeWorld;
let other: FakeWorld;
let made: number;
let clock: FakeClock;
const byTurns: Choose = (_record, nodes) => nodes[made++ % nodes.length] ?? nodes[0];
const elsewhere = () => ({ nodes: [{ id: "other", driver: new FakeDriver(other) }], choose: byTurns });

beforeEach(async () => {
  made = 0;
  clock = new FakeClock(Date.UTC(2030));
  home = new FakeWorld();
  other = new FakeWorld();
  s = await TestServer.start({ world: home, clock, elsewhere: elsewhere() });
  for (const [digest, layer] of home.layers) other.layers.set(digest, layer);
});
afterEach(async () => {
  await s[Symbol.asyncDispose]();
  await other.clear();
});

const post = async (id: string, verb: string, body: object = {}) => (await s.call("POST", `/sandboxes/${id}/${verb}`, body)).status;
const states = async () => {
  const { body } = await s.call("GET", "/v2/sandboxes?state=running,paused");
  return Object.fromEntries(body.map((one: { sandboxID: string; state: string }) => [one.sandboxID, one.state]));
};
/** Sends a request to the agent of a sandbox through the one port. */
const reach = async (id: string) =>
  (await fetch(`${s.url}/health`, { headers: { "Svc-Sandbox-Id": id, "Svc-Sandbox-Port": "49983" } })).status;

/** A sandbox on each node. */
async function both() {
  const [one, two] = [(await s.create()).sandboxID, (await s.create()).sandboxID];
  expect([[...home.sandboxes.keys()], [...other.sandboxes.keys()]]).toEqual([[one], [two]] as never);
  return { one, two };
}

test("every verb of a sandbox is done by the driver of its node, and requests reach it there", async () => {
  const { two } = await both();
  home.faults.calls.length = 0;
  expect([await reach(two), await post(two, "timeout", { timeout: 600 }), await post(two, "pause")]).toEqual([204, 204, 204]);
  expect([await states(), await post(two, "connect", { timeout: 60 })]).toMatchObject([{ [two]: "paused" }, 201]);
  expect((await s.call("PUT", `/sandboxes/${two}/network`, { allowOut: ["10.9.8.7"] })).status).toBe(204);
  const forked = (await s.call("POST", `/sandboxes/${two}/fork`, { timeout: 60, count: 2 })).body;
  expect([forked.length, home.sandboxes.size, other.sandboxes.size]).toEqual([2, 1, 3]);
  expect((await s.call("DELETE", `/sandboxes/${two}`)).status).toBe(204);
  expect(other.sandboxes.has(two as never)).toBe(false);
  await s.server.sampler.once();
  await s.server.sweep.once();
  // The rounds ask both nodes, for their snapshots too; nothing else has asked this one for a sandbox of the other.
  expect([...new Set(home.faults.calls)].sort()).toEqual(["list", "listSnapshots", "removeSnapshot", "stats"]);
});

test("the room of a node is its own", async () => {
  await both();
  other.capacity = { ...other.capacity, memoryFreeBytes: 0 };
  const wanted = { templateID: "base" };
  // The account of a node is used for half a second.
  await clock.advance(600);
  const answers = [await s.call("POST", "/v2/sandboxes", wanted), await s.call("POST", "/v2/sandboxes", wanted)];
  expect(answers.map(({ status, body }) => [status, body.message?.slice(0, 39)])).toEqual([
    [201, undefined],
    [503, "There is no room for another sandbox: t"],
  ]);
  expect([home.sandboxes.size, other.sandboxes.size]).toEqual([2, 1]);
});

test("the next server finds each sandbox by the node of its record", async () => {
  const { one, two } = await both();
  const { config } = s;
  await s.stop();
  s = await TestServer.start({ world: home, dataDir: config.dataDir, elsewhere: elsewhere() });
  expect(s.server.adoption).toMatchObject({ adopted: 2, removed: 0, quarantined: 0 });
  expect([await states(), await reach(one), await reach(two)]).toEqual([{ [one]: "running", [two]: "running" }, 204, 204]);
  expect((await s.call("DELETE", `/sandboxes/${two}`)).status).toBe(204);
  expect([home.sandboxes.size, other.sandboxes.size]).toEqual([1, 0]);
});

test("a server with another store makes the record of what a node has, with that node", async () => {
  const { one, two } = await both();
  await s.stop();
  s = await TestServer.start({ world: home, elsewhere: elsewhere(), orphans: "adopt" });
  expect([s.server.adoption.adopted, await states()]).toEqual([2, { [one]: "running", [two]: "running" }]);
  expect((await s.call("DELETE", `/sandboxes/${two}`)).status).toBe(204);
  expect([home.sandboxes.size, other.sandboxes.size]).toEqual([1, 0]);
});

test("a record of a node that this server does not have stops the start, and the sandbox stays", async () => {
  const { two } = await both();
  const { config } = s;
  await s.stop();
  await expect(TestServer.start({ world: home, dataDir: config.dataDir })).rejects.toMatchObject({ reason: "unknown_node" });
  s = await TestServer.start({ world: home, dataDir: config.dataDir, elsewhere: elsewhere() });
  expect((await states())[two]).toBe("running");
});
