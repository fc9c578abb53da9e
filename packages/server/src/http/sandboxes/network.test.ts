import { afterEach, beforeEach, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { newSandboxId } from "@boxyard/core";
import { FakeWorld } from "@boxyard/driver/fake";
import { eventually } from "@boxyard/testkit";
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

const rule = (headers: Record<string, string>) => [{ transform: { headers } }];
const many = (count: number, of: (i: number) => [string, string]) => Object.fromEntries(Array.from({ length: count }, (_, i) => of(i)));
const badRules: readonly Record<string, unknown>[] = [
  ...["*", "a..example", "1.2.3.4", "a.example:443", "https://a.example", "", `${"a.".repeat(60)}example.example`].map((host) => ({
    [host]: [],
  })),
  { "a.example": [{}, {}] },
  { "a.example": {} },
  { "a.example": [{ transforms: {} }] },
  { "a.example": [{ transform: { headers: { a: 1 } } }] },
  { "a.example": [], "A.example": [] },
  Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`h${i}.example`, []])),
  { "a.example": rule(many(21, (i) => [`x-${i}`, "v"])) },
  { "a.example": rule({ "x-a": "1", "X-A": "2" }) },
  { "a.example": rule({ ["x".repeat(65)]: "v" }) },
  { "a.example": rule({ a: "v".repeat(2049) }) },
  ...["a b", "", "Host", "Content-Length", "transfer-encoding", "Connection", "Proxy-Authorization"].map((name) => ({
    "a.example": rule({ [name]: "v" }),
  })),
  ...["a\r\nb: c", "a\0", "\u20ac"].map((value) => ({ "a.example": rule({ a: value }) })),
  { "a.example": rule({ a: "$" + "{e2b.identity.tokens.x}" }) },
];

const badProxies: readonly unknown[] = [
  ...["", "a.example", "a.example:0", "https://a.example:1", "http://u:p@a.example:1", "[::1]:1080", "127.0.0.1:1080", "10.0.0.1:1"].map(
    (address) => ({ address }),
  ),
  {},
  { address: 1 },
  { address: "a.example:1", scheme: "http" },
  { address: "a.example:1", password: "p" },
  { address: "a.example:1", username: "u".repeat(256) },
  { address: "a.example:1", username: "u", password: "\u00e4".repeat(128) },
  { address: "http://a.example:1", username: "a:b" },
  { address: "a.example:1", tls: {} },
  { address: "a.example:1", tls: { enabled: false, serverName: "a.example" } },
  { address: "a.example:1", tls: { enabled: true, caCert: "no certificate" } },
  { address: "a.example:1", tls: { enabled: true, serverName: "a b" } },
];

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
    ...badProxies.map((egressProxy) => [{ egressProxy }, "egressProxy"] as const),
    ...badRules.map((rules) => [{ rules }, "rules"] as const),
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

test("rules for requests are given back as they were given, with hosts in lower case, and an update without them removes them", async () => {
  const rules = {
    "API.Example": rule({ Authorization: "Bearer t", "x-a": "" }),
    "*.b.example": [],
    "c.example": [{ transform: null }],
    "d.example": [{}],
  };
  const given = { ...rules, "api.example": rules["API.Example"], "API.Example": undefined };
  const made = await s.create({ network: { rules } });
  const network = async () => (await s.call("GET", `/sandboxes/${made.sandboxID}`)).body.network;
  const enforced = () => world.sandboxes.get(made.sandboxID)?.network.edge;
  const edge = { hosts: [{ host: "api.example", headers: { Authorization: "Bearer t", "x-a": "" } }] };
  expect([(await network()).rules, enforced()]).toEqual([JSON.parse(JSON.stringify(given)), edge]);
  await put({ allowOut: ["1.1.1.1"] }, made.sandboxID);
  expect([(await network()).rules, enforced()]).toEqual([undefined, undefined]);
  await put({ rules: { "*.b.example": rule({ a: "b" }) } }, made.sandboxID);
  expect(enforced()).toEqual({ hosts: [{ host: "*.b.example", headers: { a: "b" } }] });
});

test("a proxy reaches the driver with its password, which nobody gets back and no file holds, and an update without it removes it", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "boxyard-network-"));
  const caCert = rootCertificates[0] as string;
  const password = "a-password-in-plain-words";
  const egressProxy = { address: "Proxy.Example:1080", username: "u", password, tls: { enabled: true, serverName: "tls.example", caCert } };
  const enforced = { protocol: "socks5" as const, host: "proxy.example", port: 1080, username: "u", password };
  const policy = {
    internetAccess: true,
    isProxied: true,
    edge: { hosts: [], proxy: { ...enforced, tls: { serverName: "tls.example", caCert } } },
  };
  const first = await TestServer.start({ world, dataDir });
  const { sandboxID } = await first.create({ network: { egressProxy } });
  const inForce = () => world.sandboxes.get(sandboxID)?.network;
  expect(inForce()).toEqual(policy);
  const shown = { address: egressProxy.address, username: "u", tls: { enabled: true, serverName: "tls.example" } };
  const got = async (server: TestServer) => (await server.call("GET", `/sandboxes/${sandboxID}`)).body;
  expect((await got(first)).network.egressProxy).toEqual(shown);
  expect(JSON.stringify(await got(first))).not.toContain(password);
  await first.stop();
  const files = readdirSync(dataDir).filter((name) => name.startsWith("boxyard.db"));
  expect(files.filter((name) => readFileSync(join(dataDir, name)).includes(password))).toEqual([]);

  const sandbox = world.sandboxes.get(sandboxID);
  if (sandbox) sandbox.network = { internetAccess: false };
  await using second = await TestServer.start({ world, dataDir });
  expect([inForce(), (await got(second)).network.egressProxy]).toEqual([policy, shown]);
  const update = (body: unknown) => second.call("PUT", `/sandboxes/${sandboxID}/network`, body);
  expect((await update({ egressProxy: { address: "http://192.0.2.7:3128", tls: null } })).status).toBe(204);
  expect(inForce()?.edge?.proxy).toEqual({ protocol: "http", host: "192.0.2.7", port: 3128 });
  expect((await update({ denyOut: ["9.9.9.9"] })).status).toBe(204);
  expect([inForce(), (await got(second)).network.egressProxy]).toEqual([{ internetAccess: true, denyOut: ["9.9.9.9"] }, undefined]);
});

const usesSecret = rule({ Authorization: "Bearer $" + "{e2b.secrets.Token}" });

test("secrets of rules and attached ones reach the driver, follow their changes, and are shown to nobody", async () => {
  const secret = (value: string, path = "/secrets", name: string | undefined = "token") =>
    s.call("POST", path, { ...(name && { name }), value });
  expect((await secret("value-one-of-the-team")).status).toBe(201);
  const network = {
    rules: { "a.example": usesSecret },
    secrets: [{ name: "token", hosts: ["B.example"], methods: ["GET"], paths: ["/v1/*"] }],
  };
  const made = await s.create({ network });
  const shownNetwork = { rules: network.rules, secrets: [{ ...network.secrets[0], hosts: ["b.example"] }] };
  const got = await s.call("GET", `/sandboxes/${made.sandboxID}`);
  expect(got.body.network).toMatchObject(shownNetwork);
  expect(JSON.stringify(got.body)).not.toContain("value-one");
  const edgeOf = (value: string) => ({
    hosts: [{ host: "a.example", headers: { Authorization: `Bearer ${value}` }, masked: [value] }],
    secrets: [{ placeholder: "boxyard.token.secret", value, hosts: ["b.example"], methods: ["GET"], paths: ["/v1/*"] }],
  });
  const enforced = () => world.sandboxes.get(made.sandboxID)?.network.edge;
  expect(enforced()).toEqual(edgeOf("value-one-of-the-team"));
  expect((await secret("value-two-of-the-team", "/secrets/token", "")).status).toBe(200);
  await eventually("the driver has the new value", () => JSON.stringify(enforced()) === JSON.stringify(edgeOf("value-two-of-the-team")));
  await s.call("DELETE", "/secrets/token");
  const refused = "network: there is no secret 'token'";
  await eventually(
    "the host is refused",
    () => JSON.stringify(enforced()) === JSON.stringify({ hosts: [{ host: "a.example", headers: {}, refused }] }),
  );
});

test("a secret that is not there, or that no header can hold, is refused by name", async () => {
  expect((await s.call("POST", "/secrets", { name: "lines", value: "a\nb" })).status).toBe(201);
  for (const body of [{ rules: { "a.example": usesSecret } }, { secrets: [{ name: "token", hosts: ["a.example"] }] }])
    expect(await put(body)).toMatchObject({ status: 400, body: { message: "network: there is no secret 'token'" } });
  const lines = await put({ secrets: [{ name: "lines", hosts: ["a.example"] }] });
  expect([lines.status, lines.body.message]).toEqual([400, expect.stringContaining("'lines' cannot be in a header")]);
  for (const secrets of [
    [{ name: "a b", hosts: ["a.example"] }],
    [{ name: "a", hosts: [] }],
    [{ name: "a", hosts: ["*"] }],
    [{ name: "a", hosts: ["a.example"], paths: ["v1"] }],
    [{ name: "a", hosts: ["a.example"], methods: ["get"] }],
    [
      { name: "a", hosts: ["a.example"] },
      { name: "A", hosts: ["b.example"] },
    ],
  ])
    expect(await put({ secrets })).toMatchObject({ status: 400, body: { message: expect.stringContaining("secrets") } });
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
  const rules = { "a.example": rule({ a: "value-in-plain-words" }) };
  expect((await first.call("PUT", `/sandboxes/${id}/network`, { allow_internet_access: false, ...lists, rules })).status).toBe(204);
  // As if the earlier server had died between the store and the driver.
  const sandbox = world.sandboxes.get(id);
  if (sandbox) sandbox.network = { internetAccess: true };
  await first.stop();
  await using second = await TestServer.start({ world, dataDir });
  const edge = { hosts: [{ host: "a.example", headers: { a: "value-in-plain-words" } }] };
  expect(world.sandboxes.get(id)?.network).toEqual({ internetAccess: false, ...lists, edge });
  // No file of the store has the values of rules, which may be tokens.
  const files = readdirSync(dataDir).filter((name) => name.startsWith("boxyard.db"));
  expect(files.filter((name) => readFileSync(join(dataDir, name)).includes("value-in-plain-words"))).toEqual([]);
  expect((await second.call("GET", `/sandboxes/${id}`)).body).toMatchObject({ allowInternetAccess: false, network: { ...lists, rules } });
});
