import { afterAll, expect, test } from "bun:test";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { eventually } from "@boxyard/testkit";
import { testCertificate } from "../../testing/certificate.ts";
import { TEST_ID } from "../../testing/front.ts";
import { Front } from "../front.ts";
import { RouteTable } from "../route-table.ts";
import { requestText } from "./request-text.ts";

const directory = mkdtempSync(join(tmpdir(), "boxyard-http2-"));
afterAll(() => rmSync(directory, { recursive: true }));
const files = { cert: join(directory, "cert.pem"), key: join(directory, "key.pem") };
const { cert, key } = testCertificate();
writeFileSync(files.cert, cert);
writeFileSync(files.key, key);

/** The front over TLS, and a program in the sandbox: it mirrors bodies, tells its request, streams, or breaks off. */
class Secure implements AsyncDisposable {
  readonly inside = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    maxRequestBodySize: 64 << 20,
    fetch: async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/mirror") return new Response(request.body);
      if (pathname === "/early") return new Response("enough", { status: 413 });
      if (pathname === "/tell")
        return Response.json([request.method, request.headers.get("host"), request.headers.get("cookie"), (await request.bytes()).length]);
      if (pathname === "/slow") return new Response(new ReadableStream({ start: (stream) => stream.enqueue("begun") }));
      return new Response("no", { status: 404, headers: { "Set-Cookie": "a=1" } });
    },
  });
  readonly front: Front;
  readonly session: ClientHttp2Session;

  constructor() {
    const routes = new RouteTable();
    routes.add({ sandboxId: TEST_ID, incarnation: 1, host: "127.0.0.1", agentPort: 1, accessToken: "token" });
    this.front = new Front({
      hostname: "127.0.0.1",
      port: 0,
      tls: { hostname: "127.0.0.1", port: 0, ...files },
      routes,
      api: async (request, call) => new Response(`${request.headers.get("x-forwarded-proto")} ${(await call.body(64 << 20)).byteLength}`),
      clock: systemClock,
      logger: silentLogger,
    });
    this.session = connect(`https://127.0.0.1:${this.front.tlsPort}`, { ca: cert, checkServerIdentity: () => undefined });
    this.session.on("error", () => {});
  }

  /** A request to the sandbox's program. */
  ask(path: string, fields: Record<string, string | string[]> = {}, endStream = true): ClientHttp2Stream {
    const headers = { ":path": path, "svc-sandbox-id": TEST_ID, "svc-sandbox-port": String(this.inside.port), ...fields };
    const stream = this.session.request(headers, { endStream });
    stream.on("error", () => {});
    return stream;
  }

  async [Symbol.asyncDispose]() {
    this.session.destroy();
    await this.front.close(0);
    await this.inside.stop(true);
  }
}

async function answerOf(stream: ClientHttp2Stream): Promise<{ status: number; fields: Record<string, unknown>; body: Buffer }> {
  const [fields] = (await once(stream, "response")) as [Record<string, unknown>];
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece);
  return { status: Number(fields[":status"]), fields, body: Buffer.concat(pieces) };
}

test("requests to the API and to sandboxes share one connection, many at once", async () => {
  await using t = new Secure();
  const api = t.session.request({ ":path": "/x", ":method": "POST" });
  api.end("abc");
  expect((await answerOf(api)).body.toString()).toBe("https 3");
  const large = Buffer.alloc(3 << 20, "0123456789abcdef-");
  const mirrored = Array.from({ length: 20 }, async (_, i) => {
    const body = i === 0 ? large : Buffer.from(`body ${i}`);
    const stream = t.ask("/mirror", { ":method": "POST", ...(i % 2 === 0 && { "content-length": `${body.length}` }) }, false);
    stream.end(body);
    return (await answerOf(stream)).body.equals(body);
  });
  expect((await Promise.all(mirrored)).every(Boolean)).toBe(true);
  const told = await answerOf(t.ask("/tell", { ":authority": "app.example", cookie: ["a=1", "b=2"] }));
  expect(JSON.parse(told.body.toString())).toEqual(["GET", "app.example", "a=1; b=2", 0]);
  const missing = await answerOf(t.ask("/none"));
  expect([missing.status, missing.fields["set-cookie"], missing.fields.connection]).toEqual([404, ["a=1"], undefined]);
  const head = await answerOf(t.ask("/tell", { ":method": "HEAD" }));
  expect([head.status, head.body.length]).toEqual([200, 0]);
  // One for the connection is left when all are answered.
  await eventually("the requests are over", () => t.front.counts.clients === 1);
});

test("each side may break off: a request that is reset, an answer before the body's end, a connection that is closed", async () => {
  await using t = new Secure();
  const reset = t.ask("/slow");
  await once(reset, "response");
  reset.close(8);
  await eventually("the request is gone", () => t.front.counts.clients === 1);
  const early = t.ask("/early", { ":method": "POST" }, false);
  early.write("some");
  expect((await answerOf(early)).status).toBe(413);
  const slow = t.ask("/slow");
  await once(slow, "response");
  t.session.destroy();
  await eventually("all are gone", () => t.front.counts.clients === 0);
});

test("fields that a program sends twice come in one line, and cookies in one each", async () => {
  await using t = new Secure();
  const answer =
    "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Type: a/b\r\nVary: x\r\nVary: y\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n";
  using twice = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket) => void socket.end(`${answer}Content-Length: 2\r\n\r\nok`) },
  });
  const { fields, body } = await answerOf(t.ask("/", { "svc-sandbox-port": String(twice.port) }));
  expect(fields).toMatchObject({ "content-type": "a/b, a/b", vary: "x, y", "set-cookie": ["a=1", "b=2"] });
  expect(body.toString()).toBe("ok");
});

test("the body has the length that was announced", async () => {
  await using t = new Secure();
  for (const body of ["abcdef", "ab"]) {
    const stream = t.ask("/mirror", { ":method": "POST", "content-length": "4" }, false);
    stream.end(body);
    await eventually("the request is reset", () => stream.closed && stream.rstCode !== 0);
  }
  expect((await answerOf(t.ask("/tell"))).status).toBe(200);
});

test("the end of the front waits for answers that have begun", async () => {
  await using t = new Secure();
  const stream = t.ask("/mirror", { ":method": "POST" }, false);
  stream.write("first");
  const [response, answer] = [once(stream, "response"), answerOf(stream)];
  await response;
  const closed = t.front.close(10_000);
  stream.end(" second");
  expect((await answer).body.toString()).toBe("first second");
  await closed;
});

const raw = (fields: Record<string, string>, more: readonly string[] = []) => [
  ...Object.entries({ ":method": "GET", ":path": "/", ":scheme": "https", ":authority": "a.example", ...fields }).flat(),
  ...more,
];

test("a request that HTTP/1.1 would read in two ways is refused", () => {
  expect(requestText(raw({}), true)).toEqual({
    method: "GET",
    head: "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
    length: 0,
    isWhole: true,
  });
  expect(requestText(raw({ ":method": "POST" }), false)?.head).toContain("\r\ntransfer-encoding: chunked\r\n");
  expect(requestText(raw({ ":method": "POST" }), true)?.head).toContain("\r\ncontent-length: 0\r\n");
  expect(requestText(raw({}, ["upgrade", "boxyard-tcp", "connection", "upgrade", "transfer-encoding", "chunked"]), true)?.head).toBe(
    "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
  );
  const wrong: readonly (readonly string[])[] = [
    raw({ ":path": "/ HTTP/1.1\r\nX: y" }),
    raw({ ":path": "*x" }),
    raw({ ":method": "G T" }),
    raw({ ":method": "CONNECT" }),
    raw({ ":authority": "a.example\r\nX: y" }),
    raw({ ":authority": "a b" }),
    raw({ ":protocol": "websocket" }),
    raw({}, ["host", "other.example"]),
    raw({}, ["x", "y\r\nz: 1"]),
    raw({}, ["x y", "1"]),
    raw({}, [":path", "/again"]),
    raw({}, ["content-length", "5"]),
    raw({}, ["content-length", "1", "content-length", "2"]),
    raw({}, ["content-length", "+1"]),
  ];
  for (const fields of wrong) expect([fields, requestText(fields, true)]).toEqual([fields, undefined]);
});
