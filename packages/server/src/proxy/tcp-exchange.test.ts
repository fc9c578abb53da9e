import { expect, test } from "bun:test";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { AGENT_PORT } from "@boxyard/spec";
import { eventually } from "@boxyard/testkit";
import { TEST_ID, TestFront } from "../testing/front.ts";
import type { Flight, Route } from "./route-table.ts";
import { isOwnerFull, MAX_TCP, MAX_TCP_OF_OWNER, TcpExchange } from "./tcp-exchange.ts";

const GOOD = "the-token-of-a-link";
const linkSeconds = (_port: number, token: string) => (token === GOOD ? 60 : undefined);

const requestFor = (front: TestFront, port: number, { path = `/?boxyard_link=${GOOD}`, more = "" } = {}) =>
  `GET ${path} HTTP/1.1\r\n${front.headers(port)}Connection: Upgrade\r\nUpgrade: boxyard-tcp\r\n${more}\r\n`;

/** What one side of a connection has received, and whether the other side has ended its sending. */
class Side {
  readonly socket: Socket;
  private pieces: Buffer[] = [];
  ended = false;
  closed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (piece) => this.pieces.push(Buffer.from(piece)));
    socket.on("end", () => {
      this.ended = true;
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.closed = true;
    });
  }

  get bytes(): Buffer {
    if (this.pieces.length > 1) this.pieces = [Buffer.concat(this.pieces)];
    return this.pieces[0] ?? Buffer.alloc(0);
  }

  /** Leaves the head of the answer out. */
  drop(count: number): void {
    this.pieces = [this.bytes.subarray(count)];
  }

  /** Everything up to the end of the other side's sending. */
  async all(): Promise<Buffer> {
    await eventually("the other side has ended its sending", () => this.ended, { withinMs: 30_000 });
    return this.bytes;
  }
}

/** What plays the program in the sandbox. */
async function program(serve: (side: Side) => void): Promise<{ server: Server; port: number; [Symbol.dispose](): void }> {
  const server = createServer({ allowHalfOpen: true }, (socket) => serve(new Side(socket)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, port: (server.address() as AddressInfo).port, [Symbol.dispose]: () => void server.close() };
}

const echoing = ({ socket }: Side) => {
  socket.on("data", (bytes) => socket.write(bytes));
  socket.on("end", () => socket.end());
};

/** A client whose connection has become one of raw TCP to the port. */
async function dial(front: TestFront, port: number, early = ""): Promise<Side> {
  const client = new Side(connect({ port: front.front.port, host: "127.0.0.1", allowHalfOpen: true }));
  client.socket.write(Buffer.from(requestFor(front, port) + early, "latin1"));
  const end = () => client.bytes.indexOf("\r\n\r\n");
  await eventually("the head of the answer", () => end() >= 0);
  expect(client.bytes.toString("latin1")).toStartWith("HTTP/1.1 101 Switching Protocols\r\n");
  client.drop(end() + 4);
  return client;
}

const flights = (front: TestFront) => front.routes.find(TEST_ID)?.flights.size ?? 0;
const none = (front: TestFront) => eventually("nothing is in flight", () => flights(front) === 0);

test("bytes of any kind pass both ways, also those that came with the request, and from a program that speaks first", async () => {
  await using front = new TestFront();
  using echo = await program((side) => {
    side.socket.write("ready\0");
    echoing(side);
  });
  front.route({ linkSeconds });
  const client = await dial(front, echo.port, "early\xff");
  const binary = Buffer.from([0, 255, 13, 10, 13, 10]);
  client.socket.write(binary);
  const expected = Buffer.concat([Buffer.from("ready\0early\xff", "latin1"), binary]);
  await eventually("all came back", () => client.bytes.length >= expected.length);
  expect(client.bytes.equals(expected)).toBe(true);
  client.socket.destroy();
  await none(front);
});

const BODY = Buffer.alloc(3 << 20, "0123456789abcdef-");

test("the program's answer comes after the client has ended its side", async () => {
  await using front = new TestFront();
  front.route({ linkSeconds });
  using counting = await program(async (side) => side.socket.end(String((await side.all()).equals(BODY))));
  const client = await dial(front, counting.port);
  client.socket.end(BODY);
  expect((await client.all()).toString()).toBe("true");
  await none(front);
});

test("the client's bytes come, all of them, after the program has ended its side", async () => {
  await using front = new TestFront();
  front.route({ linkSeconds });
  const programs: Side[] = [];
  using first = await program((side) => {
    programs.push(side);
    side.socket.end("said all");
    side.socket.pause();
  });
  const client = await dial(front, first.port);
  expect((await client.all()).toString()).toBe("said all");
  client.socket.end(BODY);
  programs[0]?.socket.resume();
  expect((await programs[0]?.all())?.equals(BODY)).toBe(true);
  await none(front);
});

test("a client that does not read makes the program wait, and loses nothing", async () => {
  await using front = new TestFront();
  front.route({ linkSeconds });
  const size = 64 << 20;
  const whole = Buffer.alloc(size, "0123456789abcdef-");
  let sent = 0;
  using source = await program(({ socket }) => {
    const next = () => {
      while (sent < size) {
        const piece = whole.subarray(sent, sent + (1 << 20));
        sent += piece.length;
        if (!socket.write(piece)) return void socket.once("drain", next);
      }
      socket.end();
    };
    socket.once("data", next);
  });
  const client = await dial(front, source.port);
  client.socket.pause();
  client.socket.write("go");
  let before = -1;
  await eventually("the program waits", () => {
    const isSame = before === sent;
    before = sent;
    return isSame && sent > 0;
  });
  expect(sent).toBeLessThan(size);
  client.socket.resume();
  expect((await client.all()).equals(whole)).toBe(true);
}, 60_000);

test("the end of the sandbox, a withdrawn link and the end of the server end the connection", async () => {
  const front = new TestFront();
  using echo = await program(echoing);
  const ends: ((front: TestFront) => unknown)[] = [
    () => front.routes.remove(TEST_ID),
    () => front.routes.cutLinked(TEST_ID, echo.port),
    () => front.front.close(0),
  ];
  for (const end of ends) {
    front.route({ linkSeconds });
    const client = await dial(front, echo.port);
    void end(front);
    await eventually("the connection has ended", () => client.closed);
  }
  front.upstream.stop();
});

test("a client that resets its connection, and a program that leaves, end the other", async () => {
  await using front = new TestFront();
  front.route({ linkSeconds });
  const programs: Side[] = [];
  using waiting = await program((side) => programs.push(side));
  const leaving = await front.client();
  leaving.send(requestFor(front, waiting.port));
  await leaving.includes("101 Switching");
  leaving.reset();
  await eventually("the program's connection has ended", () => programs[0]?.closed === true);
  await none(front);
  using left = await program(({ socket }) => void socket.once("data", () => socket.destroy()));
  const client = await dial(front, left.port);
  client.socket.write("x");
  await eventually("the client is told", () => client.ended || client.closed);
  client.socket.destroy();
  await none(front);
});

test("a reset by the program is a reset for the client, behind what it has sent: a part must not look like the whole", async () => {
  await using front = new TestFront();
  front.route({ linkSeconds });
  for (const size of [0, 5, 5 << 20]) {
    let sent: Promise<unknown> = Promise.resolve();
    using server = await program(({ socket }) => {
      sent = new Promise<void>((done) => socket.write(Buffer.alloc(size, "x"), () => done()));
      socket.once("data", () => socket.resetAndDestroy());
    });
    const client = await dial(front, server.port);
    await eventually("all is there", () => client.bytes.byteLength === size);
    await sent;
    client.socket.write("x");
    await eventually("the connection is over", () => client.closed || client.ended);
    expect([client.bytes.byteLength, client.ended]).toEqual([size, false]);
    await none(front);
  }
}, 30_000);

/** The answer to a request that does not become a connection. */
async function refused(front: TestFront, port: number, options: Parameters<typeof requestFor>[2] = {}): Promise<string> {
  const client = await front.client();
  client.send(requestFor(front, port, options));
  const answer = await client.includes("}");
  client.end();
  return answer;
}

test("who shows neither link nor token is refused, also where the port is open by HTTP", async () => {
  await using front = new TestFront();
  using echo = await program(echoing);
  front.route({ linkSeconds });
  for (const path of ["/", "/?boxyard_link=other"]) expect(await refused(front, echo.port, { path })).toStartWith("HTTP/1.1 403 ");
  front.route({ linkSeconds, trafficToken: "traffic" });
  for (const more of ["", "e2b-traffic-access-token: wrong\r\n"])
    expect(await refused(front, echo.port, { path: "/", more })).toStartWith("HTTP/1.1 403 ");
  const client = await front.client();
  client.send(requestFor(front, echo.port, { path: "/", more: "e2b-traffic-access-token: traffic\r\n" }));
  await client.includes("101 Switching Protocols");
  client.reset();
});

test("a refused request does not wake a paused sandbox", async () => {
  await using front = new TestFront();
  let wakes = 0;
  front.routes.remove(TEST_ID);
  const wake = async () => {
    wakes += 1;
    front.route({ linkSeconds });
    return undefined;
  };
  front.routes.addSleeper({ sandboxId: TEST_ID, accessToken: "token", linkSeconds, wake });
  expect(await refused(front, 1, { path: "/" })).toStartWith("HTTP/1.1 403 ");
  expect(await refused(front, AGENT_PORT, { more: "x-access-token: token\r\n" })).toStartWith("HTTP/1.1 403 ");
  expect(wakes).toBe(0);
  using echo = await program(echoing);
  const client = await dial(front, echo.port, "good morning");
  await eventually("what was sent before it was awake comes back", () => client.bytes.toString() === "good morning");
  expect(wakes).toBe(1);
  client.socket.destroy();
});

test("the agent's port, a body, a closed port and too many at once are refused", async () => {
  await using front = new TestFront();
  front.route({ linkSeconds });
  using closed = await program(() => {});
  closed.server.close();
  await once(closed.server, "close");
  using open = await program(echoing);
  expect(await refused(front, AGENT_PORT)).toStartWith("HTTP/1.1 403 ");
  expect(await refused(front, open.port, { more: "Content-Length: 2\r\n" })).toStartWith("HTTP/1.1 400 ");
  expect(await refused(front, closed.port)).toMatch(/^HTTP\/1\.1 502 .*port is not open/s);
  await eventually("refused clients are gone", () => front.front.counts.clients === 0);
  const clients = await Promise.all(Array.from({ length: MAX_TCP }, () => dial(front, open.port)));
  expect(await refused(front, open.port)).toMatch(/^HTTP\/1\.1 429 .*256/s);
  for (const { socket } of clients) socket.destroy();
}, 60_000);

test("all sandboxes of one owner together have a bound; those of others and other requests do not count", () => {
  const route = (owner: string | undefined, count: number, prototype: object = TcpExchange.prototype) => {
    const flights = new Set<Flight>(Array.from({ length: count }, () => Object.create(prototype) as Flight));
    return { ...(owner && { owner }), flights } as Route;
  };
  const full = (...routes: Route[]) => isOwnerFull({ all: () => routes.values() }, routes[0] as Route);
  expect(MAX_TCP_OF_OWNER).toBe(4 * MAX_TCP);
  const quarters = Array.from({ length: 4 }, () => route("a", MAX_TCP));
  expect(full(...quarters)).toBe(true);
  expect(full(...quarters.slice(1), route("a", MAX_TCP - 1))).toBe(false);
  expect(full(...quarters.slice(1), route("b", MAX_TCP), route("a", MAX_TCP, Object.prototype))).toBe(false);
  expect(full(...Array.from({ length: 4 }, () => route(undefined, MAX_TCP)))).toBe(false);
});
