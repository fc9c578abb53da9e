import { afterAll, expect, test } from "bun:test";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect as connectTcp, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { type Clock, systemClock } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { eventually } from "@boxyard/testkit";
import { END_HEADERS, END_STREAM, FRAME, frame, frameReader, preface, requestBlock } from "@boxyard/testkit/http2-frames";
import { testCertificate } from "../../testing/certificate.ts";
import { Front } from "../front.ts";
import { RouteTable } from "../route-table.ts";

/* A client without a key cannot keep others out by HTTP/2 or by TLS (SECURITY.md). Its frames are written by hand. */

const directory = mkdtempSync(join(tmpdir(), "boxyard-http2-limits-"));
afterAll(() => rmSync(directory, { recursive: true }));
const files = { cert: join(directory, "cert.pem"), key: join(directory, "key.pem") };
const { cert, key } = testCertificate();
writeFileSync(files.cert, cert);
writeFileSync(files.key, key);

/** Clients may hold back all of each answer's body: INITIAL_WINDOW_SIZE 0. */
const NO_WINDOW = Buffer.from([0, 4, 0, 0, 0, 0]);
const WHOLE = END_STREAM | END_HEADERS;

interface Client {
  readonly socket: TLSSocket;
  /** Type and stream of each frame that came, with the code of resets and of the farewell. */
  readonly got: string[];
  isClosed: boolean;
}

class Secure implements AsyncDisposable {
  readonly front: Front;
  begun = 0;
  private later = 0;
  private readonly sleepers: (() => void)[] = [];
  private readonly sockets: Socket[] = [];

  /** `/held` is never answered, `/known` counts as a request with a key. */
  constructor(maxClients?: number) {
    const clock: Clock = {
      now: () => systemClock.now(),
      monotonic: () => systemClock.monotonic() + this.later,
      sleep: (_ms, signal) =>
        new Promise((resolve, reject) => {
          this.sleepers.push(resolve);
          signal?.addEventListener("abort", reject);
        }),
    };
    this.front = new Front({
      ...{ hostname: "127.0.0.1", port: 0, tls: { hostname: "127.0.0.1", port: 0, ...files }, routes: new RouteTable() },
      api: (request, call) => {
        this.begun += 1;
        if (request.url.endsWith("/known")) call.trust();
        return request.url.endsWith("/held") ? new Promise<Response>(() => {}) : new Response("x".repeat(100), { status: 401 });
      },
      ...{ clock, logger: silentLogger, ...(maxClients && { maxClients }) },
    });
  }

  pass(ms: number): void {
    this.later += ms;
    for (const wake of this.sleepers) wake();
  }

  /** Speaks what `protocols` says; frames are read where that is HTTP/2. */
  async client({ settings = Buffer.alloc(0), protocols = ["h2"] } = {}): Promise<Client> {
    const options = { host: "127.0.0.1", port: this.front.tlsPort ?? 0, ALPNProtocols: protocols, rejectUnauthorized: false };
    const socket = connect(options);
    this.sockets.push(socket);
    const made: Client = { socket, got: [], isClosed: false };
    const read = frameReader((type, stream, body) => {
      const code = type === FRAME.reset ? ` ${body.readUInt32BE(0)}` : type === FRAME.goaway ? ` ${body.readUInt32BE(4)}` : "";
      made.got.push(`${type}:${stream}${code}`);
    });
    if (protocols.includes("h2")) socket.on("data", read);
    else socket.on("data", (bytes: Buffer) => made.got.push(bytes.toString("latin1")));
    socket
      .on("error", () => {})
      .on("close", () => {
        made.isClosed = true;
      });
    await once(socket, "secureConnect");
    if (protocols.includes("h2")) socket.write(preface(settings));
    return made;
  }

  /** A connection that says nothing. */
  async silent(): Promise<Socket> {
    const socket = connectTcp({ host: "127.0.0.1", port: this.front.tlsPort ?? 0 });
    this.sockets.push(socket);
    socket.on("error", () => {}).resume();
    await once(socket, "connect");
    return socket;
  }

  async [Symbol.asyncDispose]() {
    for (const socket of this.sockets) socket.destroy();
    await this.front.close(0);
  }
}

const request = (stream: number, flags = WHOLE, fields: Record<string, string> = {}) =>
  frame(FRAME.headers, flags, stream, requestBlock("a.example", fields));

test("a client that takes no answers, or never ends a body of no bytes, does not hold its connection", async () => {
  await using t = new Secure();
  const [deaf, endless] = [await t.client({ settings: NO_WINDOW }), await t.client()];
  deaf.socket.write(request(1));
  endless.socket.write(request(1, END_HEADERS, { ":method": "POST", "content-length": "0" }));
  const isAnswered = (client: Client) => client.got.includes(`${FRAME.headers}:1`);
  await eventually("both are answered", () => isAnswered(deaf) && isAnswered(endless));
  await eventually("the endless one is not waited for", () => endless.got.includes(`${FRAME.reset}:1 0`));
  t.pass(125_000);
  await eventually("both are closed", () => deaf.isClosed && endless.isClosed);
});

test("a connection whose answers are complete makes room for others; one with an answer under way stays, and so does one with a key for longer", async () => {
  await using t = new Secure(8);
  const deaf = await t.client({ settings: NO_WINDOW });
  deaf.socket.write(request(1));
  await eventually("it is answered", () => deaf.got.includes(`${FRAME.headers}:1`));
  const known = await t.client();
  known.socket.write(request(1, WHOLE, { ":path": "/known" }));
  await eventually("it is answered", () => known.got.includes(`${FRAME.data}:1`));
  const held = await t.client();
  held.socket.write(request(1, WHOLE, { ":path": "/held" }));
  await eventually("it is begun", () => t.begun === 3);
  t.pass(70_000);
  // With its request the held one counts twice, so one more is one too many of this address.
  for (let i = 0; i < 3; i++) await t.client();
  await eventually("the deaf one has made room", () => deaf.isClosed);
  expect([held.isClosed, known.isClosed]).toEqual([false, false]);
});

test("a client for which there is no room is told so by its own protocol, and one that says nothing is not waited for", async () => {
  await using t = new Secure(8);
  for (let i = 0; i < 3; i++) {
    const { socket } = await t.client();
    socket.write(request(1, WHOLE, { ":path": "/held" }));
    await eventually("it is begun", () => t.begun === i + 1);
  }
  const silent = await t.silent();
  const refused = await t.client();
  await eventually("the end", () => refused.isClosed);
  expect(refused.got).toEqual([`${FRAME.settings}:0`, `${FRAME.goaway}:0 11`]);
  const older = await t.client({ protocols: ["http/1.1"] });
  await eventually("the end", () => older.isClosed);
  expect(older.got.join("")).toMatch(/^HTTP\/1.1 503 [\s\S]*too many connections/);
  t.pass(5000);
  await eventually("the silent one is closed", () => silent.destroyed);
}, 30_000);

test("requests that are begun and reset end the connection", async () => {
  await using t = new Secure();
  const made = await t.client();
  for (let i = 0; i < 20_000 && !made.isClosed; i++) {
    const [stream, code] = [1 + 2 * i, Buffer.from([0, 0, 0, 8])];
    if (made.socket.write(Buffer.concat([request(stream), frame(FRAME.reset, 0, stream, code)]))) continue;
    await eventually("the server reads, or has closed", () => made.isClosed || !made.socket.writableNeedDrain);
  }
  await eventually("the connection ends", () => made.isClosed);
  expect(t.begun).toBeLessThan(5000);
  await eventually("nothing of it is left", () => t.front.counts.clients === 0);
}, 30_000);
