import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { NetworkAttempt } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
let id: string;
beforeAll(async () => {
  s = await TestServer.start();
});
afterAll(() => s[Symbol.asyncDispose]());
beforeEach(async () => {
  const network = { allowOut: ["*.Allowed.example", "192.0.2.0/24"], denyOut: ["0.0.0.0/0"] };
  id = (await s.call("POST", "/v2/sandboxes", { templateID: "base", network })).body.sandboxID;
});

const tried = (...attempts: Omit<NetworkAttempt, "sandboxId" | "at">[]) =>
  void s.world.attempts.push(...attempts.map((attempt, i) => ({ ...attempt, at: 1000 * (i + 1), sandboxId: id as never })));
const log = async (query = "") => (await s.call("GET", `/sandboxes/${id}/network/log${query}`)).body;

const NAME: Omit<NetworkAttempt, "sandboxId" | "at"> = {
  ...{ protocol: "dns", isAllowed: true, rule: "allowed", name: "a.allowed.example", answers: ["198.51.100.1"] },
};

test("has each attempt with what decided, oldest first, and goes on at a cursor", async () => {
  tried(
    NAME,
    { protocol: "tcp", isAllowed: true, rule: "allowed", address: "192.0.2.7", port: 5432 },
    { protocol: "tcp", isAllowed: false, rule: "lists", address: "198.51.100.9", port: 25 },
    { protocol: "udp", isAllowed: false, rule: "blocked", address: "169.254.169.254", port: 80 },
  );
  const first = await log("?limit=3");
  const entry = (index: number) => ({ cursor: first.entries[0].cursor + index });
  expect(first.entries).toEqual([
    {
      ...entry(0),
      timestamp: "1970-01-01T00:00:02.000Z",
      verdict: "allowed",
      protocol: "tcp",
      address: "192.0.2.7",
      port: 5432,
      rule: "allowOut 192.0.2.0/24",
    },
    {
      ...entry(1),
      timestamp: "1970-01-01T00:00:03.000Z",
      verdict: "denied",
      protocol: "tcp",
      address: "198.51.100.9",
      port: 25,
      rule: "denyOut 0.0.0.0/0",
    },
    {
      ...{ ...entry(2), timestamp: "1970-01-01T00:00:04.000Z", verdict: "denied", protocol: "udp", address: "169.254.169.254", port: 80 },
      rule: "a private, link-local or metadata address, closed to every sandbox",
    },
  ]);
  expect(first.cursor).toBe(first.entries[2].cursor);
  expect((await log("?limit=4")).entries[0]).toMatchObject({
    name: "a.allowed.example",
    answers: ["198.51.100.1"],
    rule: "allowOut *.Allowed.example",
  });
  expect(await log(`?cursor=${first.cursor}`)).toEqual({ entries: [], cursor: first.cursor });
  tried({ protocol: "dns", isAllowed: false, rule: "names", name: "evil.example", answers: [] });
  expect((await log(`?cursor=${first.cursor}`)).entries).toMatchObject([{ name: "evil.example", rule: "the name is not in allowOut" }]);
  expect((await log("?verdict=allowed")).entries).toHaveLength(2);
  expect((await log("?search=evil")).entries).toHaveLength(1);
});

test("has the bytes of connections that names let out, and the entry that decided although the policy has changed", async () => {
  const connection = { protocol: "tcp", isAllowed: true, rule: "allowed", address: "198.51.100.1", port: 443 } as const;
  tried(
    { ...connection, name: "a.allowed.example", entry: "*.allowed.example", sentBytes: 700, receivedBytes: 5000 },
    { ...connection, name: "b.former.example", entry: "*.former.example", sentBytes: 0, receivedBytes: 0 },
    { ...connection, name: "evil.example", isAllowed: false, rule: "names", sentBytes: 0, receivedBytes: 0 },
  );
  const { entries } = await log();
  expect(entries).toMatchObject([
    { name: "a.allowed.example", rule: "allowOut *.Allowed.example", port: 443, sentBytes: 700, receivedBytes: 5000 },
    { name: "b.former.example", rule: "allowOut *.former.example" },
    { name: "evil.example", verdict: "denied", rule: "the name is not in allowOut" },
  ]);
  expect(entries[0]).not.toHaveProperty("entry");
  // A name decided, so the policy that is suggested needs no address.
  const { allowOut } = (await s.call("GET", `/sandboxes/${id}/network/suggest`)).body;
  expect(allowOut).toEqual(["a.allowed.example", "b.former.example", "evil.example"]);
});

test("tells what was denied in an event, with the first names and addresses", async () => {
  const denied = { protocol: "tcp", isAllowed: false, rule: "lists" } as const;
  tried({ ...denied, address: "198.51.100.9", port: 25 }, { ...denied, rule: "names", name: "evil.example" }, NAME);
  const told = await eventually("the event", async () => {
    const { events } = (await s.call("GET", `/events?action=sandbox.denied&targetID=${id}`)).body;
    return events[0];
  });
  expect(told).toMatchObject({
    action: "sandbox.denied",
    targetID: id,
    actor: { kind: "server" },
    after: { denied: { count: 2, names: ["evil.example"], addresses: ["198.51.100.9:25"] } },
  });
});

test("keeps the newest thousand attempts of a sandbox, and none of one that has ended", async () => {
  tried(...Array.from({ length: 1200 }, (_, i) => ({ ...NAME, name: `n${i}.example` })));
  const { entries } = await log();
  expect([entries.length, entries[0].name]).toEqual([1000, "n200.example"]);
  await s.call("DELETE", `/sandboxes/${id}`);
  expect((await s.call("GET", `/sandboxes/${id}/network/log`)).status).toBe(404);
});

const scraped = async () => (await fetch(`${s.server.url}/metrics`, { headers: { "X-API-Key": s.apiKey } })).text();

test("counts what was denied, for Prometheus", async () => {
  const count = async () => Number(/^boxyard_network_denied_total (\d+)$/m.exec(await scraped())?.[1]);
  const before = await count();
  tried(NAME, { protocol: "tcp", isAllowed: false, rule: "lists", address: "198.51.100.9", port: 25 });
  await log();
  expect((await count()) - before).toBe(1);
});

test("suggests names for HTTP and TLS, addresses for the rest, and nothing that is closed to every sandbox", async () => {
  tried(
    NAME,
    { protocol: "tcp", isAllowed: true, rule: "allowed", address: "198.51.100.1", port: 443 },
    { protocol: "dns", isAllowed: false, rule: "names", name: "evil.example", answers: [] },
    { protocol: "dns", isAllowed: true, rule: "allowed", name: "1.2.0.192.in-addr.arpa", answers: [] },
    { protocol: "tcp", isAllowed: false, rule: "lists", address: "198.51.100.2", port: 443 },
    { protocol: "udp", isAllowed: false, rule: "lists", address: "198.51.100.3", port: 123 },
    { protocol: "tcp", isAllowed: false, rule: "blocked", address: "169.254.169.254", port: 80 },
    { protocol: "tcp", isAllowed: false, rule: "blocked", address: "10.0.0.1", port: 22 },
  );
  const { status, body } = await s.call("GET", `/sandboxes/${id}/network/suggest`);
  expect([status, body]).toEqual([
    200,
    { allowOut: ["a.allowed.example", "evil.example", "198.51.100.2", "198.51.100.3"], denyOut: ["0.0.0.0/0"] },
  ]);
  expect((await s.call("POST", "/v2/sandboxes", { templateID: "base", network: body })).status).toBe(201);
});
