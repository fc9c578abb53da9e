import { expect, test } from "bun:test";
import { TEST_ID, TestFront } from "../testing/front.ts";

/* The proxy does not parse a head again that has the same bytes as the one before on the connection. The results must be the same. */
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";

test("a repeated head is passed as the first one was, with the new body", async () => {
  await using t = new TestFront();
  const client = await t.client();
  const head = `POST /x HTTP/1.1\r\n${t.headers()}Content-Length: 3\r\nConnection: keep-alive\r\nX-Forwarded-For: 1.1.1.1\r\n\r\n`;
  for (const [asked, answered] of [
    ["one", "11"],
    ["two", "22"],
    ["ten", "33"],
  ] as const) {
    client.clear();
    client.send(head + asked);
    const upstream = await t.upstream.peer(0);
    expect(await upstream.includes(asked)).toBe(
      `POST /x HTTP/1.1\r\nHost: sandbox.test\r\nSvc-Sandbox-Id: ${TEST_ID}\r\nSvc-Sandbox-Port: 49983\r\nContent-Length: 3\r\n\r\n${asked}`,
    );
    upstream.clear();
    upstream.send(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: timeout=5\r\n\r\n${answered}`);
    expect(await client.includes(answered)).toBe(`${OK}${answered}`);
  }
  expect(t.upstream.peers).toHaveLength(1);
});

test("requests that come together are separated, and so are answers that come in pieces", async () => {
  await using t = new TestFront();
  const client = await t.client();
  const get = `GET /y HTTP/1.1\r\n${t.headers()}\r\n`;
  client.send(get + get + get);
  const upstream = await t.upstream.peer(0);
  for (let i = 0; i < 3; i++) {
    await upstream.includes("\r\n\r\n");
    upstream.clear();
    for (const piece of [OK.slice(0, 9), OK.slice(9), "o", `${i}`]) {
      upstream.send(piece);
      await Bun.sleep(1);
    }
  }
  expect(await client.includes("o2")).toBe(`${OK}o0${OK}o1${OK}o2`);
});

test("the same answer is framed by its request: GET or HEAD", async () => {
  await using t = new TestFront();
  const client = await t.client();
  const ask = async (method: string, answer: string, until: string) => {
    client.clear();
    client.send(`${method} /z HTTP/1.1\r\n${t.headers()}\r\n`);
    const upstream = await t.upstream.peer(0);
    await upstream.includes("\r\n\r\n");
    upstream.clear();
    upstream.send(answer);
    return client.includes(until);
  };
  expect(await ask("GET", `${OK}ok`, "ok")).toBe(`${OK}ok`);
  expect(await ask("HEAD", OK, "\r\n\r\n")).toBe(OK);
  expect(await ask("GET", `${OK}ko`, "ko")).toBe(`${OK}ko`);
  expect(t.upstream.peers).toHaveLength(1);
});

test("a token that has become wrong is refused, although the request is the same", async () => {
  await using t = new TestFront();
  t.route({ trafficToken: "one" });
  const client = await t.client();
  const request = `GET / HTTP/1.1\r\n${t.headers(t.userPort)}E2b-Traffic-Access-Token: one\r\n\r\n`;
  client.send(request);
  const upstream = await t.upstream.peer(0);
  await upstream.includes("\r\n\r\n");
  upstream.send(`${OK}ok`);
  await client.includes("ok");
  t.route({ trafficToken: "two", incarnation: 2 });
  client.clear();
  client.send(request);
  expect(await client.includes("is invalid")).toContain("HTTP/1.1 403");
});

test("an answer that ends a connection does so each time", async () => {
  await using t = new TestFront();
  const client = await t.client();
  client.send(`GET / HTTP/1.1\r\n${t.headers()}\r\n`);
  const first = await t.upstream.peer(0);
  await first.includes("\r\n\r\n");
  first.send(`${OK}ok`);
  await client.includes("ok");
  const other = await t.client();
  other.send(`GET / HTTP/1.1\r\n${t.headers()}Connection: close\r\n\r\n`);
  await first.wait((received) => received.split("\r\n\r\n").length > 2);
  first.send(`${OK}ok`);
  expect(await other.isClosed()).toBe("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
});

test("requests that differ only in their first line are dispatched by that line", async () => {
  await using t = new TestFront((request) => new Response(`api ${request.method} ${new URL(request.url).pathname}`));
  const client = await t.client();
  const fields = `${t.headers()}Access-Control-Request-Method: GET\r\n\r\n`;
  const rest = `Host: sandbox.test\r\nSvc-Sandbox-Id: ${TEST_ID}\r\nSvc-Sandbox-Port: 49983\r\nAccess-Control-Request-Method: GET\r\n\r\n`;
  for (const path of ["/a", "/b?c", "/"]) {
    client.clear();
    client.send(`GET ${path} HTTP/1.1\r\n${fields}`);
    const upstream = await t.upstream.peer(0);
    expect(await upstream.includes("\r\n\r\n")).toBe(`GET ${path} HTTP/1.1\r\n${rest}`);
    upstream.clear();
    upstream.send(`${OK}ok`);
    await client.includes("ok");
  }
  const ask = async (line: string, until: string) => {
    client.clear();
    client.send(`${line}\r\n${fields}`);
    return client.includes(until);
  };
  expect(await ask("POST /init HTTP/1.1", "cannot be reached")).toContain("404");
  expect(await ask("OPTIONS /a HTTP/1.1", "\r\n\r\n")).toContain("204 No Content");
  client.clear();
  client.send(`GET http://other.example/p HTTP/1.1\r\n${fields}`);
  const upstream = await t.upstream.peer(0);
  expect(await upstream.includes("\r\n\r\n")).toBe(`GET /p HTTP/1.1\r\n${rest.replace("sandbox.test", "other.example")}`);
  upstream.clear();
  upstream.send(`${OK}ok`);
  await client.includes("ok");
  client.send(`GET /c HTTP/1.1\r\n${fields}`);
  expect(await upstream.includes("\r\n\r\n")).toBe(`GET /c HTTP/1.1\r\n${rest}`);
  upstream.clear();
  upstream.send(`${OK}ok`);
  expect(await ask("G(T / HTTP/1.1", "malformed")).toContain("400");
});

test("HTTP/1.0 and 1.1 with the same fields are kept apart", async () => {
  await using t = new TestFront();
  const fields = `${t.headers()}\r\n`;
  const client = await t.client();
  client.send(`GET /new HTTP/1.1\r\n${fields}`);
  const first = await t.upstream.peer(0);
  await first.includes("\r\n\r\n");
  first.send(`${OK}ok`);
  await client.includes("ok");
  client.clear();
  client.send(`GET /old HTTP/1.0\r\n${fields}`);
  const second = await t.upstream.peer(1);
  expect(await second.includes("\r\n\r\n")).toContain("Connection: close\r\n");
  second.send(`${OK}ok`);
  expect(await client.isClosed()).toContain("Connection: close");
});
