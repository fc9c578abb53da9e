import { expect, test } from "bun:test";
import { TEST_ID, TestFront } from "../testing/front.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

test("passes target, Host and fields unchanged, without the fields of one connection", async () => {
  await using t = new TestFront();
  const client = await t.client();
  client.send(
    `GET /a/../b/./%2e%2e//c?x=%20#f HTTP/1.1\r\n${t.headers()}X_under: 1\r\nAccept-Encoding: br\r\nX-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Proto: https\r\n` +
      "Forwarded: for=x\r\nX-Real-Ip: 2\r\nConnection: keep-alive, X-Hop\r\nKeep-Alive: timeout=5\r\nX-Hop: 1\r\nTE: trailers\r\nProxy-Authorization: x\r\n\r\n",
  );
  const upstream = await t.upstream.peer(0);
  expect(await upstream.includes("\r\n\r\n")).toBe(
    `GET /a/../b/./%2e%2e//c?x=%20#f HTTP/1.1\r\nHost: sandbox.test\r\nSvc-Sandbox-Id: ${TEST_ID}\r\nSvc-Sandbox-Port: 49983\r\nX_under: 1\r\nAccept-Encoding: br\r\n\r\n`,
  );
  upstream.send(
    "HTTP/1.1 200 Fine thanks\r\nContent-Length: 2\r\nKeep-Alive: timeout=9\r\nConnection: X-Mine\r\nX-Mine: 1\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\nok",
  );
  expect(await client.includes("ok")).toBe("HTTP/1.1 200 Fine thanks\r\nContent-Length: 2\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\nok");
});

test("adds no content type, no length and no encoding of its own", async () => {
  await using t = new TestFront();
  const client = await t.client();
  client.send(`POST /x HTTP/1.1\r\n${t.headers()}Content-Length: 3\r\n\r\nabc`);
  const upstream = await t.upstream.peer(0);
  const got = await upstream.includes("abc");
  expect(got.toLowerCase()).not.toMatch(/content-type|accept|user-agent|transfer-encoding/);
  upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
  expect(await client.includes("0\r\n\r\n")).toBe("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
});

test("never passes a key of the platform to a sandbox, but passes other keys in the same header", async () => {
  await using t = new TestFront();
  const client = await t.client();
  client.send(`GET / HTTP/1.1\r\n${t.headers()}X-API-Key: e2b_0123abcd\r\n\r\n`);
  const upstream = await t.upstream.peer(0);
  expect(await upstream.includes("\r\n\r\n")).not.toContain("e2b_0123abcd");
  upstream.clear();
  upstream.send(OK);
  await client.includes("ok");
  client.send(`GET / HTTP/1.1\r\n${t.headers()}X-API-Key: mine\r\n\r\n`);
  expect(await upstream.includes("\r\n\r\n")).toContain("X-API-Key: mine");
});

for (const method of ["GET", "DELETE", "POST", "PUT"]) {
  test(`sends a ${method} once, also when a kept connection turns out to be closed`, async () => {
    await using t = new TestFront();
    const client = await t.client();
    client.send(`GET /first HTTP/1.1\r\n${t.headers()}\r\n`);
    const upstream = await t.upstream.peer(0);
    await upstream.includes("\r\n\r\n");
    upstream.send(OK);
    await client.includes("ok");
    client.clear();
    upstream.clear();
    client.send(`${method} /second HTTP/1.1\r\n${t.headers()}\r\n`);
    await upstream.includes("/second");
    upstream.end();
    expect(await client.includes("}")).toContain("HTTP/1.1 502");
    await Bun.sleep(50);
    expect(t.upstream.peers.map((peer) => peer.received.split(`${method} /second`).length - 1)).toEqual([1]);
  });
}

test("uses a kept connection to programs other than the agent only for GET and HEAD", async () => {
  await using t = new TestFront();
  const client = await t.client();
  const send = async (method: string, index: number) => {
    client.clear();
    client.send(`${method} / HTTP/1.1\r\n${t.headers(t.userPort)}\r\n`);
    const upstream = await t.upstream.peer(index);
    await upstream.includes("\r\n\r\n");
    upstream.clear();
    upstream.send(OK);
    await client.includes("ok");
  };
  await send("GET", 0);
  await send("GET", 0);
  await send("POST", 1);
  expect(t.upstream.peers).toHaveLength(2);
});

test("passes the response while the request is still being sent, chunk by chunk", async () => {
  await using t = new TestFront();
  const client = await t.client();
  client.send(`POST /stream HTTP/1.1\r\n${t.headers()}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n`);
  const upstream = await t.upstream.peer(0);
  expect(await upstream.includes("a\r\n")).toContain("Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
  upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nA\r\n");
  await client.includes("1\r\nA\r\n");
  client.send("1\r\nb\r\n");
  await upstream.includes("1\r\nb\r\n");
  upstream.send("1\r\nB\r\n");
  await client.includes("1\r\nB\r\n");
  client.send("0\r\n\r\n");
  await upstream.includes("0\r\n\r\n");
  upstream.send("0\r\n\r\n");
  await client.includes("0\r\n\r\n");
  // The connection is in order: another request goes through it.
  client.clear();
  client.send(`GET /next HTTP/1.1\r\n${t.headers()}\r\n`);
  await upstream.includes("GET /next");
  upstream.send(OK);
  await client.includes("ok");
});

test("answers requests in their order when they come together", async () => {
  await using t = new TestFront();
  const client = await t.client();
  client.send(`GET /1 HTTP/1.1\r\n${t.headers()}\r\nGET /2 HTTP/1.1\r\n${t.headers()}\r\nGET /3 HTTP/1.1\r\nHost: x\r\n\r\n`);
  const upstream = await t.upstream.peer(0);
  await upstream.includes("/1");
  expect(upstream.received).not.toContain("/2");
  upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
  await upstream.includes("/2");
  upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2");
  const all = await client.includes("api");
  expect(all.indexOf("\r\n\r\n1")).toBeLessThan(all.indexOf("\r\n\r\n2"));
});

test("passes interim responses, and an answer that ends with its connection", async () => {
  await using t = new TestFront();
  const client = await t.client();
  client.send(`POST / HTTP/1.1\r\n${t.headers()}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n`);
  const upstream = await t.upstream.peer(0);
  expect(await upstream.includes("\r\n\r\n")).toContain("Expect: 100-continue");
  upstream.send("HTTP/1.1 100 Continue\r\n\r\n");
  await client.includes("100 Continue");
  client.send("hi");
  await upstream.includes("hi");
  upstream.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\nuntil the end");
  await client.includes("until the end");
  expect(client.closed).toBe(false);
  upstream.end();
  expect(await client.isClosed()).toContain("Connection: close\r\n");
});

test("answers HEAD without a body, whatever Content-Length it has", async () => {
  await using t = new TestFront();
  const client = await t.client();
  client.send(`HEAD / HTTP/1.1\r\n${t.headers()}\r\n`);
  const upstream = await t.upstream.peer(0);
  await upstream.includes("HEAD");
  upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
  await client.includes("Content-Length: 100\r\n\r\n");
  client.send(`GET /next HTTP/1.1\r\n${t.headers()}\r\n`);
  await upstream.includes("GET /next");
});

test("carries an upgrade, then bytes in both directions, and the end of each", async () => {
  await using t = new TestFront();
  const client = await t.client();
  client.send(
    `GET /ws HTTP/1.1\r\n${t.headers(t.userPort)}Connection: Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Protocol: a, b\r\n\r\nearly`,
  );
  const upstream = await t.upstream.peer(0);
  const asked = await upstream.includes("\r\n\r\n");
  expect(asked).toContain("Connection: Upgrade\r\nUpgrade: WebSocket\r\n");
  expect(asked).toContain("Sec-WebSocket-Protocol: a, b\r\n");
  expect(asked).not.toContain("early");
  upstream.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: b\r\n\r\nhello");
  expect(await client.includes("hello")).toContain("Sec-WebSocket-Protocol: b\r\n");
  await upstream.includes("early");
  client.send("\u0000\u00ffGET / HTTP/1.1\r\n\r\n");
  await upstream.includes("\u0000\u00ffGET / HTTP/1.1\r\n\r\n");
  upstream.send("bye");
  await client.includes("bye");
  upstream.end();
  await client.isClosed();
});

test("passes a refused upgrade as an ordinary answer, and an upgrade without a request as a 502", async () => {
  await using t = new TestFront();
  const client = await t.client();
  client.send(`GET /ws HTTP/1.1\r\n${t.headers()}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
  const first = await t.upstream.peer(0);
  await first.includes("\r\n\r\n");
  first.send("HTTP/1.1 426 Upgrade Required\r\nContent-Length: 2\r\n\r\nno");
  await client.includes("no");
  client.clear();
  client.send(`GET / HTTP/1.1\r\n${t.headers()}\r\n`);
  const second = await t.upstream.peer(t.upstream.peers.length > 1 ? 1 : 0);
  await second.includes("GET / HTTP");
  second.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
  expect(await client.includes("}")).toContain("HTTP/1.1 502");
});

test("uses the host of an absolute target as Host", async () => {
  await using t = new TestFront();
  const client = await t.client();
  client.send(`GET http://other.test/x HTTP/1.1\r\n${t.headers()}\r\n`);
  expect(await (await t.upstream.peer(0)).includes("\r\n\r\n")).toStartWith("GET /x HTTP/1.1\r\nHost: other.test\r\n");
});

test("puts the port into a masked Host, and passes the original Host", async () => {
  await using t = new TestFront();
  t.route({ maskHost: ["app.test:$", "{PORT}"].join("") });
  const client = await t.client();
  client.send(`GET / HTTP/1.1\r\n${t.headers(t.userPort)}X-Forwarded-Host: forged.test\r\n\r\n`);
  const got = await (await t.upstream.peer(0)).includes("\r\n\r\n");
  expect(got).toContain(`Host: app.test:${t.userPort}\r\nX-Forwarded-Host: sandbox.test\r\n`);
  expect(got).not.toContain("forged");
});

test("asks for the traffic token on the sandbox's own ports only", async () => {
  await using t = new TestFront();
  t.route({ trafficToken: "secret" });
  const client = await t.client();
  client.send(`GET / HTTP/1.1\r\n${t.headers(t.userPort)}\r\n`);
  expect(await client.includes("}")).toContain("Token header 'e2b-traffic-access-token' is missing");
  client.clear();
  client.send(`GET / HTTP/1.1\r\n${t.headers(t.userPort)}E2b-Traffic-Access-Token: secreT\r\n\r\n`);
  expect(await client.includes("}")).toContain("Provided token in header 'e2b-traffic-access-token' is invalid");
  expect(t.upstream.peers).toHaveLength(0);
  client.send(`GET /in HTTP/1.1\r\n${t.headers(t.userPort)}E2b-Traffic-Access-Token: secret\r\n\r\n`);
  await (await t.upstream.peer(0)).includes("GET /in");
});
