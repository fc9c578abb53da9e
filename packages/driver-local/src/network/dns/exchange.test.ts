import { afterEach, describe, expect, test } from "bun:test";
import { type Exchange, exchangeTcp, exchangeUdp, frame } from "./exchange.ts";

const HOST = "127.0.0.1";
const QUERY = new TextEncoder().encode("query");
const ANSWER = new TextEncoder().encode("right");
const WRONG = new TextEncoder().encode("wrong");

const servers: { stop(): void }[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.stop();
});

/** An exchange that accepts only ANSWER, with far more time than it needs. */
const exchangeWith = (port: number, more: Partial<Exchange> = {}): Exchange => ({
  server: HOST,
  port,
  query: QUERY,
  accept: (bytes) => Buffer.from(bytes).equals(ANSWER),
  timeoutMs: 30_000,
  signal: new AbortController().signal,
  ...more,
});

/** Answers each datagram with `replies`, and calls `onQuery`. Returns its port. */
async function udpServer(replies: readonly Uint8Array[], onQuery: (query: Uint8Array) => void = () => {}): Promise<number> {
  const socket = await Bun.udpSocket({
    hostname: HOST,
    socket: {
      data(server, query, port, from) {
        onQuery(new Uint8Array(query));
        for (const reply of replies) server.send(reply, port, from);
      },
      error() {},
    },
  });
  servers.push({ stop: () => socket.close() });
  return socket.port;
}

/** Writes `pieces` to each connection after its first data; then closes it if `ends`. Returns its port. */
function tcpServer(pieces: readonly Uint8Array[], { ends = false, onClose = () => {} } = {}): number {
  const server = Bun.listen({
    hostname: HOST,
    port: 0,
    socket: {
      data(connection) {
        for (const piece of pieces) connection.write(piece);
        if (ends) connection.end();
      },
      close: onClose,
    },
  });
  servers.push({ stop: () => server.stop(true) });
  return server.port;
}

describe("over UDP", () => {
  test("sends the query, ignores other messages, and returns the accepted answer", async () => {
    const queries: Uint8Array[] = [];
    const port = await udpServer([WRONG, ANSWER], (query) => queries.push(query));
    expect(await exchangeUdp(exchangeWith(port))).toEqual(ANSWER);
    expect(queries).toEqual([QUERY]);
  });

  test("returns undefined without an answer: in time, after an abort, and for a server that cannot be named", async () => {
    const stop = new AbortController();
    const port = await udpServer([WRONG], () => stop.abort());
    expect(await exchangeUdp(exchangeWith(port, { timeoutMs: 20 }))).toBeUndefined();
    const again = new AbortController();
    const other = await udpServer([WRONG], () => again.abort());
    expect(await exchangeUdp(exchangeWith(other, { signal: again.signal }))).toBeUndefined();
    expect(await exchangeUdp(exchangeWith(port, { server: "not an address" }))).toBeUndefined();
  });
});

describe("over TCP", () => {
  test("reads an answer in pieces, ignores other messages, and ends the connection", async () => {
    const bytes = Buffer.concat([frame(WRONG), frame(ANSWER)]);
    const closed = Promise.withResolvers<void>();
    const port = tcpServer([bytes.subarray(0, 3), bytes.subarray(3, 9), bytes.subarray(9)], { onClose: () => closed.resolve() });
    expect(await exchangeTcp(exchangeWith(port))).toEqual(ANSWER);
    await closed.promise;
  });

  test("returns undefined when the server closes first, refuses, is silent for too long, or after an abort", async () => {
    expect(await exchangeTcp(exchangeWith(tcpServer([frame(WRONG)], { ends: true })))).toBeUndefined();
    const refusing = tcpServer([]);
    for (const server of servers.splice(0)) server.stop();
    expect(await exchangeTcp(exchangeWith(refusing))).toBeUndefined();
    expect(await exchangeTcp(exchangeWith(tcpServer([]), { timeoutMs: 20 }))).toBeUndefined();
    const stop = new AbortController();
    const waiting = exchangeTcp(exchangeWith(tcpServer([]), { signal: stop.signal }));
    stop.abort();
    expect(await waiting).toBeUndefined();
  });
});
