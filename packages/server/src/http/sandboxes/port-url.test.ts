import { afterAll, beforeAll, expect, test } from "bun:test";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
let id: string;
beforeAll(async () => {
  s = await TestServer.start();
  id = (await s.call("POST", "/v2/sandboxes", { templateID: "base", network: { allowPublicTraffic: false } })).body.sandboxID;
});
afterAll(() => s[Symbol.asyncDispose]());

const url = (port: number | string, query = "") => `/sandboxes/${id}/ports/${port}/url${query}`;

test("gives a link with its end, by the host name of the port", async () => {
  const { status, body } = await s.call("GET", url(8080, "?expires=60"));
  expect(status).toBe(200);
  const link = new URL(body.url);
  expect(link.hostname).toBe(`8080-${id}.localhost`);
  expect(link.searchParams.get("boxyard_link")).toMatch(/^[0-9a-z]+\.[A-Za-z0-9_-]{43}$/);
  expect(Math.abs(Date.parse(body.expiresAt) - Date.now() - 60_000)).toBeLessThan(30_000);
  expect(body.isPublic).toBe(false);
  const other = await s.call("GET", url(8080, "?expires=60"), undefined, { host: "10.0.0.1:99" });
  expect(other.body.url).toStartWith(`http://10.0.0.1:99/ports/${id}/8080/?boxyard_link=`);
});

test.each([
  [49983, "", "port: 49983 is the port of the sandbox's agent, which has a token of its own"],
  [0, "", "port: must be from 1 to 65535"],
  ["x", "", "port: must be from 1 to 65535"],
  [80, "?expires=0", "validation error: expires: must be at least 1"],
  [80, "?expires=604801", "validation error: expires: must be at most 604800"],
])("refuses port %p with %p", async (port, query, message) => {
  expect(await s.call("GET", url(port, query))).toMatchObject({ status: 400, body: { message } });
});

test("withdraws the links of one port, and of no other", async () => {
  const links = await Promise.all([80, 81].map(async (port) => (await s.call("GET", url(port))).body.url));
  const [first, other] = links.map((text) => new URL(text).search);
  const ask = async (port: number, search = "") => {
    const headers = { "Svc-Sandbox-Id": id, "Svc-Sandbox-Port": String(port) };
    return (await s.call("GET", `/x${search}`, undefined, headers)).status;
  };
  // 502: let in, and nothing listens there.
  expect(await Promise.all([ask(80, first), ask(81, other), ask(80, other), ask(80)])).toEqual([502, 502, 403, 403]);
  expect((await s.call("DELETE", url(80))).status).toBe(204);
  expect(await Promise.all([ask(80, first), ask(81, other)])).toEqual([403, 502]);
  const again = new URL((await s.call("GET", url(80))).body.url).search;
  expect(await ask(80, again)).toBe(502);
  for (let port = 1000; port < 1070; port++) await s.call("DELETE", url(port));
  expect(await Promise.all([ask(80, again), ask(81, other)])).toEqual([403, 403]);
});
