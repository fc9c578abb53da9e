import { expect, test } from "bun:test";
import { Connection, UpstreamPool, type UpstreamTarget } from "@boxyard/http1";
import { eventually } from "@boxyard/testkit";
import type { OpenedHosts } from "./opened-hosts.ts";
import { Recordings } from "./recordings/recordings.ts";
import { Rules } from "./rules.ts";
import { TlsRelay } from "./tls-relay.ts";

const ADDRESS = "10.208.0.16";
const HOST = "allowed.example";
const PIECE = Buffer.alloc(256 << 10, 7);

/** The first bytes of a real client. */
async function hello(): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: (_socket, bytes) => resolve(Buffer.from(bytes)) } });
  const tls = { serverName: HOST, rejectUnauthorized: false };
  Bun.connect({ hostname: "127.0.0.1", port: server.port, tls, socket: { data() {}, error() {} } }).catch(() => {});
  const bytes = await promise;
  server.stop(true);
  return bytes;
}

test("a server that is slow to read gets all that was taken of a client, also after the client has gone", async () => {
  let got = 0;
  let hasEnded = false;
  let hasLeft = false;
  let slow: Bun.Socket<undefined> | undefined;
  const origin = Bun.listen<undefined>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        slow = socket;
        socket.pause();
      },
      data: (_socket, bytes) => {
        got += bytes.byteLength;
      },
      end: () => {
        hasEnded = true;
      },
    },
  });
  const rules = new Rules();
  rules.set(ADDRESS, { hosts: [HOST], ranges: [] });
  const pool = new UpstreamPool(() => performance.now(), 60_000);
  let taken: Connection | undefined;
  let upstream: Connection | undefined;
  const connect = (target: UpstreamTarget, owner: Parameters<UpstreamPool["connect"]>[1]) => {
    upstream = pool.connect({ ...target, host: "127.0.0.1", port: origin.port }, owner);
    return upstream;
  };
  const ways = { names: { find: () => ["127.0.0.1"] }, pool: { connect }, trust: () => undefined };
  const traffic = { allowed() {}, denied() {} };
  const recordings = new Recordings({ onMiss() {}, onStopped() {} }, () => 0);
  const parts = { rules, ways: ways as never, recordings, opened: {} as OpenedHosts, now: () => performance.now(), traffic };
  const front = Bun.listen<Connection>({
    hostname: "127.0.0.1",
    port: 0,
    allowHalfOpen: true,
    socket: {
      ...Connection.handlers,
      open(socket) {
        const connection = new Connection();
        taken = connection;
        new TlsRelay(parts, ADDRESS, connection, () => {
          hasLeft = true;
        });
        socket.data = connection;
        connection.attach(socket);
      },
    },
  });
  const client = await Bun.connect({ hostname: "127.0.0.1", port: front.port, socket: { data() {} } });
  client.write(await hello());
  await eventually("the relay has passed the first message on", () => (upstream?.sentBytes ?? 0) > 0);
  await eventually("the relay has bytes that the server does not take", () => {
    client.write(PIECE);
    return upstream?.isBehind === true;
  });
  client.terminate();
  await eventually("the relay has seen that the client has gone", () => hasLeft);
  slow?.resume();
  await eventually("the server has the end", () => hasEnded);
  expect([got, got > PIECE.byteLength]).toEqual([taken?.receivedBytes ?? 0, true]);
  front.stop(true);
  origin.stop(true);
});

test("a first message that comes byte by byte has no more time than another one", async () => {
  let now = 0;
  const rules = new Rules();
  rules.set(ADDRESS, { hosts: [HOST], ranges: [] });
  const ways = { names: { find: () => new Promise(() => {}) }, pool: {}, trust: () => undefined };
  const recordings = new Recordings({ onMiss() {}, onStopped() {} }, () => 0);
  const client = new Connection();
  new TlsRelay(
    { rules, ways: ways as never, opened: {} as OpenedHosts, now: () => now, recordings, traffic: { allowed() {}, denied() {} } },
    ADDRESS,
    client,
    () => {},
  );
  const bytes = await hello();
  const { deadline } = client;
  for (const byte of bytes.subarray(0, -1)) {
    now += 10;
    client.owner?.onData(Buffer.from([byte]));
    expect(client.deadline).toBe(deadline);
  }
  expect(deadline).toBe(15_000);
  client.owner?.onData(bytes.subarray(-1));
  expect(client.deadline).toBe(Number.POSITIVE_INFINITY);
});
