import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { type SandboxId, systemClock } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { moveInKernel } from "@boxyard/http1";
import { eventually } from "@boxyard/testkit";
import { TEST_ID } from "../testing/front.ts";
import { Front } from "./front.ts";
import { RouteTable } from "./route-table.ts";

/*
 * Large bodies, which the kernel moves: no byte of them, nor of the messages before and after them, may be lost, doubled or out of order.
 */

const BODY = randomBytes(24 << 20);
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const SUM = sha256(BODY);

/** `GET /body` is the body; a POST is answered with the sum of what came; an upgrade echoes. */
const upstream = createServer((request, response) => {
  if (request.method === "GET") return void response.end(request.url === "/body" ? BODY : "small");
  const sum = createHash("sha256");
  request.on("data", (chunk: Buffer) => sum.update(chunk));
  request.on("end", () => response.end(sum.digest("hex")));
});
upstream.on("upgrade", (_request, socket, head) => {
  socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
  if (head.byteLength > 0) socket.write(head);
  socket.pipe(socket);
});

let front: Front;
beforeAll(async () => {
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const routes = new RouteTable();
  const agentPort = (upstream.address() as { port: number }).port;
  routes.add({ sandboxId: TEST_ID as SandboxId, incarnation: 1, host: "127.0.0.1", agentPort, accessToken: "none" });
  front = new Front({
    hostname: "127.0.0.1",
    port: 0,
    routes,
    api: () => new Response(),
    clock: systemClock,
    logger: silentLogger,
  });
});
afterAll(async () => {
  await front.close(0);
  upstream.closeAllConnections();
  upstream.close();
});

const FIELDS = `Host: x\r\nSvc-Sandbox-Id: ${TEST_ID}\r\nSvc-Sandbox-Port: 49983\r\n`;

/** Sends everything on one connection, reads with a rest after each `sip` bytes, and returns what came until the other side closed. */
async function talk(parts: readonly Uint8Array[], options: { sip?: number; halfClose?: boolean } = {}): Promise<Buffer> {
  const received: Buffer[] = [];
  let sinceRest = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = Buffer.concat(parts);
  const push = (socket: Bun.Socket) => {
    left = left.subarray(Math.max(0, socket.write(left)));
    if (left.byteLength === 0 && options.halfClose) socket.shutdown();
  };
  await Bun.connect({
    hostname: "127.0.0.1",
    port: front.port,
    allowHalfOpen: true,
    socket: {
      open: push,
      drain: push,
      data(socket, chunk) {
        received.push(Buffer.from(chunk));
        sinceRest += chunk.byteLength;
        if (sinceRest < (options.sip ?? Number.POSITIVE_INFINITY)) return;
        sinceRest = 0;
        socket.pause();
        setTimeout(() => socket.resume(), 2);
      },
      end: (socket) => void socket.end(),
      close: () => resolve(),
    },
  });
  await promise;
  return Buffer.concat(received);
}

const get = (path: string) => Buffer.from(`GET ${path} HTTP/1.1\r\n${FIELDS}\r\n`);
const LAST = Buffer.from(`GET /small HTTP/1.1\r\n${FIELDS}Connection: close\r\n\r\n`);
const post = () => [Buffer.from(`POST / HTTP/1.1\r\n${FIELDS}Content-Length: ${BODY.byteLength}\r\n\r\n`), BODY];

/** Cuts answers with a Content-Length apart. */
function answers(stream: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < stream.byteLength; ) {
    const body = stream.indexOf("\r\n\r\n", at) + 4;
    const length = Number(/content-length: (\d+)/i.exec(stream.toString("latin1", at, body))?.[1]);
    found.push(stream.subarray(body, body + length));
    at = body + length;
  }
  return found;
}

test.each([
  ["at once", Number.POSITIVE_INFINITY],
  ["in sips", 3 << 20],
])("answers keep their borders when they are taken %s", async (_how, sip) => {
  const stream = await talk([get("/body"), get("/small"), get("/body"), LAST], { sip });
  expect(answers(stream).map((body) => (body.byteLength > 10 ? sha256(body) : body.toString()))).toEqual([SUM, "small", SUM, "small"]);
});

test("requests keep their borders", async () => {
  const stream = await talk([...post(), get("/small"), ...post(), LAST]);
  expect(answers(stream).map(String)).toEqual([SUM, "small", SUM, "small"]);
});

test("chunks larger than any buffer come out as they went in", async () => {
  const chunked = `POST / HTTP/1.1\r\n${FIELDS}Transfer-Encoding: chunked\r\n\r\n`;
  const size = `${BODY.byteLength.toString(16)}\r\n`;
  const request = [Buffer.from(chunked + size), BODY, Buffer.from(`\r\n${size}`), BODY, Buffer.from("\r\n0\r\n\r\n"), LAST];
  const stream = await talk(request);
  expect(answers(stream).map(String)).toEqual([sha256(Buffer.concat([BODY, BODY])), "small"]);
});

test("a tunnel carries them both ways at once", async () => {
  const open = Buffer.from(`GET / HTTP/1.1\r\n${FIELDS}Connection: Upgrade\r\nUpgrade: echo\r\n\r\n`);
  const small = Buffer.from("the last, small piece");
  const stream = await talk([open, BODY, small], { halfClose: true });
  const start = stream.indexOf("\r\n\r\n") + 4;
  expect(stream.toString("latin1", 0, start)).toStartWith("HTTP/1.1 101");
  expect(sha256(stream.subarray(start))).toBe(sha256(Buffer.concat([BODY, small])));
});

test("the kernel moves bytes on this machine, so the tests above do not pass by the slow path alone", async () => {
  const got: Buffer[] = [];
  const sink = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: (_socket, bytes) => void got.push(Buffer.from(bytes)) } });
  const source = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data() {},
      open: (socket) => void socket.write("abc".repeat(1000)),
    },
  });
  const from = await Bun.connect({
    hostname: "127.0.0.1",
    port: source.port,
    socket: { data() {}, open: (socket) => void socket.pause() },
  });
  const to = await Bun.connect({ hostname: "127.0.0.1", port: sink.port, socket: { data() {} } });
  const fdOf = (socket: object) => (socket as { fd: number }).fd;
  // Time alone: nothing tells that the bytes lie in the kernel's buffer.
  await Bun.sleep(20);
  expect(moveInKernel(fdOf(from), fdOf(to), 2999)).toEqual({ taken: 2999, rest: undefined });
  expect(moveInKernel(-1, fdOf(to), 10).taken).toBe(0);
  await eventually("all has arrived", () => Buffer.concat(got).length >= 2999);
  expect(Buffer.concat(got).toString()).toBe("abc".repeat(1000).slice(0, 2999));
  for (const socket of [from, to]) socket.end();
  for (const listener of [sink, source]) listener.stop(true);
});
