import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connectRaw } from "../testing/raw.ts";
import { TestServer } from "../testing/test-server.ts";

/* Requests from the network without a key (SECURITY.md). */

let s: TestServer;
beforeAll(async () => {
  s = await TestServer.start();
});
afterAll(() => s[Symbol.asyncDispose]());

const ENDLESS = "Transfer-Encoding: chunked\r\n";
const head = (line: string, fields: string) => `${line} HTTP/1.1\r\nHost: x\r\n${fields}\r\n`;

describe("a client without a key", () => {
  test.each([
    ["no key", "POST /sandboxes", ENDLESS, 401],
    ["a wrong key", "POST /v2/sandboxes", `X-API-Key: e2b_${"0".repeat(40)}\r\n${ENDLESS}`, 401],
    ["no key and a long body", "POST /sandboxes", "Content-Length: 8000000\r\n", 401],
    ["a path that is no operation", "POST /nothing", ENDLESS, 404],
    ["a method that is not allowed", "PATCH /sandboxes", ENDLESS, 405],
  ])("is answered before a body is read: %s", async (_what, line, fields, status) => {
    const client = await connectRaw(s.port);
    client.send(head(line, fields));
    expect(await client.includes("\r\n\r\n")).toStartWith(`HTTP/1.1 ${status} `);
    client.end();
  });

  test("gets no 100 Continue", async () => {
    const client = await connectRaw(s.port);
    client.send(head("POST /sandboxes", `Expect: 100-continue\r\n${ENDLESS}`));
    expect(await client.includes("\r\n\r\n")).toStartWith("HTTP/1.1 401 ");
    client.end();
  });

  test("gets its answer in the middle of a body, and the rest of the body is discarded", async () => {
    const client = await connectRaw(s.port);
    client.send(head("POST /sandboxes", ENDLESS) + "1\r\na\r\n".repeat(100_000));
    expect(await client.includes('"code":401')).toContain("Connection: close\r\n");
    client.send("zzz, which is no chunk");
    client.end();
    expect((await client.isClosed()).split("HTTP/1.1 ")).toHaveLength(2);
  });
});

describe("a client with a key", () => {
  const key = () => `X-API-Key: ${s.apiKey}\r\n`;

  test("gets a 100 Continue once its key is checked", async () => {
    const client = await connectRaw(s.port);
    client.send(head("POST /sandboxes", `${key()}Expect: 100-continue\r\nContent-Length: 2\r\n`));
    await client.includes("HTTP/1.1 100 Continue\r\n\r\n");
    client.send("{}");
    expect(await client.includes('"code":400')).toContain("templateID");
    client.end();
  });

  test("may send a body in chunks of one byte", async () => {
    const text = JSON.stringify({ templateID: "nope", metadata: { x: "y".repeat(50_000) } });
    const client = await connectRaw(s.port);
    client.send(head("POST /sandboxes", key() + ENDLESS) + [...text].map((c) => `1\r\n${c}\r\n`).join(""));
    client.send("0\r\n\r\n");
    expect(await client.includes('"code":404')).toContain("nope");
    client.end();
  });

  test("may send no larger body than the operation takes, with a length or in chunks", async () => {
    for (const [path, maxBytes] of [
      ["/sandboxes/i00000000000000000000/timeout", 1 << 20],
      ["/sandboxes", 4 << 20],
    ] as const) {
      const body = new Uint8Array(maxBytes + 1).fill(0x20);
      for (const sent of [body, new Blob([body]).stream()]) {
        const reply = await fetch(s.url + path, { method: "POST", headers: { "X-API-Key": s.apiKey }, body: sent });
        expect([reply.status, await reply.json()]).toEqual([413, { code: 413, message: `The body is larger than ${maxBytes} bytes` }]);
      }
    }
  });
});

describe("a Host that names nothing", () => {
  test.each(["x:99999", "a b", "%", "x/y", "[::1", "user@x", "x:-1", "a..b:1:2"])("%p is a 400", async (host) => {
    const client = await connectRaw(s.port);
    client.send(`GET /health HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    expect(await client.includes("\r\n\r\n")).toStartWith("HTTP/1.1 400 ");
    client.end();
  });
});
