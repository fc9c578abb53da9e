import { afterAll, beforeAll, expect, test } from "bun:test";
import { type ClientHttp2Session, connect, createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, createConnection, type Socket } from "node:net";
import { Connection } from "@boxyard/http1";
import { eventually } from "@boxyard/testkit";
import { END_HEADERS, END_STREAM, FRAME, field, frame, frameReader, preface, requestBlock } from "@boxyard/testkit/http2-frames";
import { Rules } from "../rules.ts";
import { Http2Side } from "./http2-side.ts";
import { MAX_STREAMS } from "./limits.ts";
import type { ServerSessions } from "./server-sessions.ts";

/** Clients that send what no library would: the frames are written by hand. */

const ADDRESS = "10.208.0.16";
const HOST = "api.example";
let origin: Http2Server;
let front: Bun.TCPSocketListener<Connection>;
const rules = new Rules();
const targets: string[] = [];
let begun = 0;
const sessions: ClientHttp2Session[] = [];

beforeAll(async () => {
  rules.set(ADDRESS, { hosts: ["*"], ranges: [], edge: { hosts: [{ host: HOST, headers: {} }] } });
  origin = createServer();
  origin.on("stream", (stream: ServerHttp2Stream, fields) => {
    begun += 1;
    targets.push(String(fields[":path"]));
    stream.on("error", () => {});
    if (fields[":path"] === "/waits") return;
    if (fields[":path"] === "/behind") {
      answerWithAll(stream);
      return;
    }
    stream.respond({ ":status": 200 });
    stream.end("ok");
  });
  await new Promise<void>((resolve) => origin.listen(0, "127.0.0.1", resolve));
  const open = async () => {
    const session = connect(`http://127.0.0.1:${(origin.address() as AddressInfo).port}`);
    session.on("error", () => {});
    sessions.push(session);
    return { session, isUsable: () => !session.destroyed };
  };
  front = Bun.listen<Connection>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      ...Connection.handlers,
      open(socket) {
        const connection = new Connection();
        socket.data = connection;
        connection.attach(socket);
        new Http2Side(
          { rules, sessions: { open, isOffered: () => true } as unknown as ServerSessions, address: ADDRESS, host: HOST },
          connection,
        );
      },
    },
  });
});

afterAll(() => {
  front.stop(true);
  for (const session of sessions) session.destroy();
  origin.close();
});

/** Answers with the body of a request and what stood behind it, once both are there. */
function answerWithAll(stream: ServerHttp2Stream): void {
  const pieces: Buffer[] = [];
  let behind: unknown;
  let hasEnded = false;
  const answer = () => {
    if (behind === undefined || !hasEnded) return;
    stream.respond({ ":status": 200 });
    stream.end(JSON.stringify({ bytes: Buffer.concat(pieces).byteLength, behind }));
  };
  stream.on("data", (bytes: Buffer) => pieces.push(bytes));
  stream.on("trailers", (fields) => {
    behind = fields["x-behind"];
    answer();
  });
  stream.on("end", () => {
    hasEnded = true;
    answer();
  });
}

const { headers: HEADERS, reset: RESET, settings: SETTINGS, ping: PING, goaway: GOAWAY, continuation: CONTINUATION } = FRAME;
const head = (fields: Record<string, string> = {}) => requestBlock(HOST, fields);

interface Client {
  readonly socket: Socket;
  isClosed: boolean;
  /** Types of the frames that came, with the code of resets and of the farewell. */
  readonly got: string[];
}

async function client(): Promise<Client> {
  const socket = createConnection(front.port, "127.0.0.1");
  const made: Client = { socket, isClosed: false, got: [] };
  const read = frameReader((type, _stream, body) => {
    const code = type === RESET ? body.readUInt32BE(0) : type === GOAWAY ? body.readUInt32BE(4) : "";
    made.got.push(`${type}${code === "" ? "" : ` ${code}`}`);
  });
  socket.on("data", read);
  socket.on("error", () => {});
  socket.on("close", () => {
    made.isClosed = true;
  });
  await new Promise<void>((resolve) => socket.on("connect", resolve));
  socket.write(preface());
  return made;
}

/** Sends pieces until the other side has closed, or all are sent. */
async function pour({ socket }: Client, count: number, piece: (i: number) => Buffer): Promise<void> {
  for (let i = 0; i < count && !socket.destroyed; i++) {
    if (socket.write(piece(i))) continue;
    await new Promise<void>((resolve) => {
      socket.once("drain", resolve);
      socket.once("close", () => resolve());
    });
  }
}

/** Whether another client is served: what one of them does is not the others' trouble. */
async function serves(): Promise<boolean> {
  const other = await client();
  other.socket.write(frame(HEADERS, END_STREAM | END_HEADERS, 1, head()));
  await eventually("an answer", () => other.got.includes(String(HEADERS)));
  other.socket.destroy();
  return true;
}

test("a client has a bounded number of open requests, and the others are to be sent again", async () => {
  const made = await client();
  const before = begun;
  await pour(made, MAX_STREAMS + 50, (i) => frame(HEADERS, END_STREAM | END_HEADERS, 1 + 2 * i, head({ ":path": "/waits" })));
  await eventually("the rest is refused", () => made.got.filter((what) => what === `${RESET} 7`).length === 50);
  await eventually("the others are at the server", () => begun - before === MAX_STREAMS);
  made.socket.destroy();
  expect(await serves()).toBe(true);
});

test("fields behind the body of a request get to the server, as clients of gRPC send them", async () => {
  const session = connect(`http://127.0.0.1:${front.port}`);
  const fields = { ":method": "POST", ":scheme": "https", ":authority": HOST, ":path": "/behind", te: "trailers" };
  const stream = session.request({ ...fields, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "x-behind": "after the body" }));
  const answer: Buffer[] = [];
  let hasEnded = false;
  stream.on("data", (bytes: Buffer) => answer.push(bytes));
  stream.on("end", () => {
    hasEnded = true;
  });
  const body = Buffer.alloc(300_000, "x");
  stream.end(body);
  await eventually("the answer", () => hasEnded);
  expect(JSON.parse(Buffer.concat(answer).toString())).toEqual({ bytes: body.byteLength, behind: "after the body" });
  session.destroy();
});

test("requests that are begun and reset end the connection", async () => {
  const before = begun;
  const made = await client();
  await pour(made, 20_000, (i) =>
    Buffer.concat([
      frame(HEADERS, END_STREAM | END_HEADERS, 1 + 2 * i, head({ ":path": "/waits" })),
      frame(RESET, 0, 1 + 2 * i, Buffer.from([0, 0, 0, 8])),
    ]),
  );
  await eventually("the connection ends", () => made.isClosed);
  expect(begun - before).toBeLessThan(5000);
  expect(await serves()).toBe(true);
});

test("heads without end, heads that grow when they are read, and floods of questions and settings are ended", async () => {
  const heads = async (rest: (made: Client) => Promise<void>) => {
    const made = await client();
    await rest(made);
    const isRefused = () => made.isClosed || made.got.some((what) => what.startsWith(String(GOAWAY)) || what === `${RESET} 11`);
    await eventually("the connection, or the request, ends", isRefused);
    made.socket.destroy();
  };
  const before = process.memoryUsage().rss;
  await heads(async (made) => {
    made.socket.write(frame(HEADERS, 0, 1, head()));
    await pour(made, 20_000, (i) => frame(CONTINUATION, 0, 1, field(`b${i}`, "x".repeat(10_000))));
  });
  // One field in the table of the connection, and then 60,000 times its number.
  const bomb = Buffer.concat([head(), field("a", "x".repeat(4000), 0x40), Buffer.alloc(12_000, 0x80 | 62)]);
  await heads(async (made) => void made.socket.write(frame(HEADERS, END_HEADERS | END_STREAM, 1, bomb)));
  // Of a client that reads none of the answers.
  for (const asking of [frame(PING, 0, 0, Buffer.alloc(8)), frame(SETTINGS, 0, 0)])
    await heads((made) => {
      made.socket.pause();
      return pour(made, 1000, () => Buffer.alloc(asking.byteLength * 2000, asking));
    });
  expect(process.memoryUsage().rss - before).toBeLessThan(200 << 20);
  expect(await serves()).toBe(true);
}, 60_000);

test("a request that servers could read in two ways reaches none", async () => {
  const before = begun;
  const forms: Record<string, string>[] = [
    { ":path": "/ HTTP/1.1\r\nx: y" },
    { ":path": "https://other.example/" },
    { ":path": "/a b" },
    { ":path": "" },
    { ":method": "CONNECT", ":path": "/" },
    { ":method": "GET /x HTTP/1.1\r\n" },
    { ":authority": "other.example" },
    { host: "other.example" },
    { ":authority": "api.example@other.example" },
    { "x-a": "1\r\nx-b: 2" },
    { "x-a": "1\0" },
    { "X-A": "1" },
    { "x a": "1" },
    { "transfer-encoding": "chunked", ":authority": "other.example" },
    { "content-length": "5" },
  ];
  for (const fields of forms) {
    const made = await client();
    made.socket.write(frame(HEADERS, END_STREAM | END_HEADERS, 1, head(fields)));
    const isAnswered = () => made.isClosed || made.got.some((what) => ["1", `${GOAWAY}`, `${RESET}`].includes(what.split(" ")[0] ?? ""));
    await eventually(JSON.stringify(fields), isAnswered);
    made.socket.destroy();
  }
  expect(begun).toBe(before);
  targets.length = 0;
  expect(await serves()).toBe(true);
  expect(targets).toEqual(["/"]);
});
