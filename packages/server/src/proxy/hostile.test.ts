import { describe, expect, test } from "bun:test";
import { systemClock } from "@boxyard/core";
import { TEST_ID, TestFront } from "../testing/front.ts";
import type { ApiHandler } from "./api-call.ts";

const CLOSED = `{"sandboxID":"${TEST_ID}","sandboxId":"${TEST_ID}","message":"The sandbox is running but port is not open","port":49983,"code":502}`;

describe("a hostile sandbox", () => {
  test.each([
    ["junk", "hello there\r\n\r\n"],
    ["both framings", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"],
    ["a bare LF in a field", "HTTP/1.1 200 OK\r\nX: a\nSet-Cookie: b\r\nContent-Length: 0\r\n\r\n"],
    ["an endless head", `HTTP/1.1 200 OK\r\nX: ${"a".repeat(70_000)}`],
    ["endless interim answers", "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(50)],
  ])("that answers %s makes a 502", async (_what, answer) => {
    await using t = new TestFront();
    const client = await t.client();
    client.send(`GET / HTTP/1.1\r\n${t.headers()}\r\n`);
    const upstream = await t.upstream.peer(0);
    await upstream.includes("\r\n\r\n");
    upstream.send(answer);
    const got = await client.wait((received) => received.endsWith("}"));
    expect(got).toContain("HTTP/1.1 502 Bad Gateway\r\n");
    expect(got.endsWith(CLOSED)).toBe(true);
  });

  test("cannot append a second answer to the first one", async () => {
    await using t = new TestFront();
    const client = await t.client();
    client.send(`GET /1 HTTP/1.1\r\n${t.headers()}\r\n`);
    const upstream = await t.upstream.peer(0);
    await upstream.includes("/1");
    upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
    await client.includes("\r\n\r\n1");
    client.send("GET /api HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(await client.includes("api")).not.toContain("evil");
    await upstream.isClosed();
  });

  test("cannot send a second answer later", async () => {
    await using t = new TestFront();
    const client = await t.client();
    client.send(`GET /1 HTTP/1.1\r\n${t.headers()}\r\n`);
    const upstream = await t.upstream.peer(0);
    await upstream.includes("/1");
    upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
    await client.includes("\r\n\r\n1");
    upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
    await upstream.isClosed();
    client.send(`GET /2 HTTP/1.1\r\n${t.headers()}\r\n`);
    const second = await t.upstream.peer(1);
    await second.includes("/2");
    expect(client.received).not.toContain("evil");
  });

  test("that ends in the middle of an answer ends the client's answer, which does not look complete", async () => {
    for (const head of ["Content-Length: 100\r\n", "Transfer-Encoding: chunked\r\n"]) {
      await using t = new TestFront();
      const client = await t.client();
      client.send(`GET / HTTP/1.1\r\n${t.headers()}\r\n`);
      const upstream = await t.upstream.peer(0);
      await upstream.includes("\r\n\r\n");
      upstream.send(`HTTP/1.1 200 OK\r\n${head}\r\n${head.startsWith("T") ? "5\r\nab" : "ab"}`);
      await client.includes("ab");
      upstream.end();
      expect(await client.isClosed()).not.toContain("\r\n0\r\n\r\n");
    }
  });

  test("that sends a malformed chunk ends the client's answer", async () => {
    await using t = new TestFront();
    const client = await t.client();
    client.send(`GET / HTTP/1.1\r\n${t.headers()}\r\n`);
    const upstream = await t.upstream.peer(0);
    await upstream.includes("\r\n\r\n");
    upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    await client.includes("hello");
    upstream.send("0\r\nX: a\n\nHTTP/1.1 200 OK\r\n\r\nevil");
    expect(await client.isClosed()).not.toContain("evil");
  });
});

describe("a hostile client", () => {
  test.each([
    [
      "both framings",
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n",
      400,
    ],
    ["a malformed line", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400],
    ["an endless head", `GET / HTTP/1.1\r\nHost: x\r\nX: ${"a".repeat(70_000)}\r\n\r\n`, 431],
    ["HTTP/2 without an upgrade", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
  ])("that sends %s gets JSON and loses the connection", async (_what, bytes, status) => {
    await using t = new TestFront();
    const client = await t.client();
    client.send(bytes);
    const got = await client.isClosed();
    expect(got).toStartWith(`HTTP/1.1 ${status} `);
    expect(JSON.parse(got.slice(got.indexOf("\r\n\r\n") + 4))).toMatchObject({ code: status });
    expect(t.upstream.peers).toHaveLength(0);
  });

  test("that sends malformed chunks is cut off, and so is the sandbox's side", async () => {
    await using t = new TestFront();
    const client = await t.client();
    client.send(`POST / HTTP/1.1\r\n${t.headers()}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`);
    const upstream = await t.upstream.peer(0);
    await upstream.includes("abc");
    client.send("zzz\r\n");
    await client.isClosed();
    await upstream.isClosed();
  });

  test("that disconnects ends its request to the sandbox", async () => {
    for (const go of ["end", "reset"] as const) {
      await using t = new TestFront();
      const client = await t.client();
      client.send(`GET /slow HTTP/1.1\r\n${t.headers()}\r\n`);
      const upstream = await t.upstream.peer(0);
      await upstream.includes("/slow");
      client[go]();
      await upstream.isClosed();
    }
  });
});

describe("the end of a sandbox", () => {
  test("answers requests that have no answer yet, and cuts the others", async () => {
    await using t = new TestFront();
    const [waiting, reading, tunnel] = [await t.client(), await t.client(), await t.client()];
    waiting.send(`GET /waiting HTTP/1.1\r\n${t.headers()}\r\n`);
    await (await t.upstream.peer(0)).includes("/waiting");
    reading.send(`GET /reading HTTP/1.1\r\n${t.headers()}\r\n`);
    const second = await t.upstream.peer(1);
    await second.includes("/reading");
    second.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
    await reading.includes("1\r\na");
    tunnel.send(`GET /ws HTTP/1.1\r\n${t.headers()}Connection: upgrade\r\nUpgrade: websocket\r\n\r\n`);
    const third = await t.upstream.peer(2);
    await third.includes("/ws");
    third.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
    await tunnel.includes("101");
    t.routes.remove(TEST_ID);
    expect(await waiting.includes("}")).toContain('"message":"The sandbox was not found","code":502}');
    expect(await reading.isClosed()).not.toContain("0\r\n\r\n");
    await tunnel.isClosed();
    for (const peer of t.upstream.peers) await peer.isClosed();
    waiting.clear();
    waiting.send(`GET /again HTTP/1.1\r\n${t.headers()}\r\n`);
    expect(await waiting.includes("}")).toContain("HTTP/1.1 502");
  });

  test("closes kept connections, so that they are never used for a later incarnation", async () => {
    await using t = new TestFront();
    const client = await t.client();
    client.send(`GET /1 HTTP/1.1\r\n${t.headers()}\r\n`);
    const upstream = await t.upstream.peer(0);
    await upstream.includes("/1");
    upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
    await client.includes("\r\n\r\n1");
    t.route({ incarnation: 2 });
    await upstream.isClosed();
    client.send(`GET /2 HTTP/1.1\r\n${t.headers()}\r\n`);
    await (await t.upstream.peer(1)).includes("/2");
  });
});

test("a client that begins with TLS gets a 400 at once", async () => {
  await using t = new TestFront();
  const client = await t.client();
  client.send("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03");
  expect(await client.wait((received) => received.endsWith("}"))).toStartWith("HTTP/1.1 400 Bad Request\r\n");
  await client.isClosed();
});

test("answers to a client that pipelines requests and does not read do not pile up; the client gets all of them once it reads", async () => {
  let answered = 0;
  await using t = new TestFront(() => {
    answered++;
    return new Response("a".repeat(256 << 10));
  });
  const client = await t.client();
  client.pause();
  const count = 200;
  client.send("GET /api HTTP/1.1\r\nHost: x\r\n\r\n".repeat(count));
  let before = -1;
  while (answered !== before) {
    before = answered;
    await Bun.sleep(200);
  }
  expect(answered).toBeGreaterThan(0);
  // As many as the kernel's buffers take, and one more.
  expect(answered).toBeLessThan(100);
  client.resume();
  await client.wait((received) => received.length > count * (256 << 10), "all answers");
  expect([answered, client.closed]).toEqual([count, false]);
});

test("a client that stops in the middle of a body to the API is cut off after 30 s; a client that goes on, or sends to a sandbox, is not", async () => {
  let aheadMs = 0;
  const api: ApiHandler = async (_request, call) => {
    call.trust();
    await call.body(100);
    return new Response("api");
  };
  await using t = new TestFront(api, { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs });
  const head = "Content-Length: 10\r\n\r\na";
  const [stopped, slow, proxied, asked] = await Promise.all([t.client(), t.client(), t.client(), t.client()]);
  for (const client of [stopped, slow]) client.send(`POST /api HTTP/1.1\r\nHost: x\r\n${head}`);
  proxied.send(`POST / HTTP/1.1\r\n${t.headers()}${head}`);
  asked.send("POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na");
  await (await t.upstream.peer(0)).includes("\r\n\r\na");
  await asked.includes("api");
  aheadMs = 20_000;
  // Time alone: the server's clock was advanced; nothing shows that the server has read it.
  await Bun.sleep(50);
  slow.send("b");
  // Time alone: as above; connections are swept once a second.
  await Bun.sleep(1200);
  expect(stopped.closed).toBe(false);
  aheadMs = 31_000;
  await stopped.isClosed();
  expect([slow.closed, proxied.closed, asked.closed]).toEqual([false, false, false]);
  slow.send("cccccccc");
  await slow.includes("api");
});
