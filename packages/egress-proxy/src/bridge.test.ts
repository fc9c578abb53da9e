import { expect, test } from "bun:test";
import { createHash, randomBytes } from "node:crypto";
import { Connection, UpstreamPool } from "@boxyard/http1";
import { eventually } from "@boxyard/testkit";
import { bridge } from "./bridge.ts";

const BODY = randomBytes(16 << 20);
const SMALL = Buffer.from("the last, small piece");
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const pool = new UpstreamPool(() => performance.now(), 60_000);

interface End {
  readonly got: Buffer[];
  left: Buffer;
  hasEnded: boolean;
  socket?: Bun.Socket<End>;
}

const newEnd = (left: Buffer): End => ({ got: [], left, hasEnded: false });

/** Sends all that is left and its end. Rests after each megabyte that it gets, so that it is slower than what sends to it. */
function handlers(rests: boolean) {
  const push = (socket: Bun.Socket<End>) => {
    const end = socket.data;
    end.left = end.left.subarray(Math.max(0, socket.write(end.left)));
    if (end.left.byteLength === 0) socket.shutdown();
  };
  const over = ({ data }: Bun.Socket<End>) => {
    data.hasEnded = true;
  };
  let sinceRest = 0;
  return {
    open(socket: Bun.Socket<End>) {
      socket.data.socket = socket;
      push(socket);
    },
    drain: push,
    data(socket: Bun.Socket<End>, bytes: Buffer) {
      socket.data.got.push(Buffer.from(bytes));
      sinceRest += bytes.byteLength;
      if (!rests || sinceRest < 1 << 20) return;
      sinceRest = 0;
      socket.pause();
      setTimeout(() => socket.resume(), 2);
    },
    end: over,
    // A peer that has sent its own end gets no event but this.
    close: over,
  };
}

/** A client and a server whose connections are joined; `moved`: bytes that the kernel has carried. */
async function joined(client: End, server: End, rests: boolean) {
  let moved = 0;
  const counted = (connection: Connection) => {
    const move = connection.moveTo.bind(connection);
    connection.moveTo = (target, limit) => {
      const count = move(target, limit);
      moved += count;
      return count;
    };
    return connection;
  };
  const origin = Bun.listen<End>({
    ...{ hostname: "127.0.0.1", port: 0, allowHalfOpen: true, data: server },
    socket: { ...handlers(rests), open: (socket) => handlers(rests).open(Object.assign(socket, { data: server })) },
  });
  const { promise, resolve } = Promise.withResolvers<readonly [Connection, Connection]>();
  const nothing = { onConnectFailed() {}, onSettled() {}, onData() {}, onEnd() {}, onDrain() {}, onClose() {} };
  const front = Bun.listen<Connection>({
    ...{ hostname: "127.0.0.1", port: 0, allowHalfOpen: true },
    socket: {
      ...Connection.handlers,
      open(socket) {
        const one = counted(new Connection());
        socket.data = one;
        one.attach(socket);
        one.pause();
        const onConnected = () => {
          bridge(one, counted(other));
          one.resume();
          resolve([one, other]);
        };
        const other = pool.connect({ host: "127.0.0.1", port: origin.port }, { ...nothing, onConnected });
      },
    },
  });
  await Bun.connect<End>({ ...{ hostname: "127.0.0.1", port: front.port, allowHalfOpen: true, data: client }, socket: handlers(rests) });
  const [one, other] = await promise;
  return {
    one,
    other,
    moved: () => moved,
    stop() {
      for (const listener of [front, origin]) listener.stop(true);
      for (const { socket } of [client, server]) socket?.terminate();
    },
  };
}

test.each([
  ["quick", false],
  ["slow", true],
])("large bodies pass both ways at once between %s peers, with their ends, and are counted", async (_how, rests) => {
  const [client, server] = [newEnd(Buffer.concat([BODY, SMALL])), newEnd(Buffer.concat([SMALL, BODY]))];
  const { one, other, moved, stop } = await joined(client, server, rests);
  try {
    await eventually("both have the other's end", () => client.hasEnded && server.hasEnded, { withinMs: 60_000 });
    expect(sha256(Buffer.concat(server.got))).toBe(sha256(Buffer.concat([BODY, SMALL])));
    expect(sha256(Buffer.concat(client.got))).toBe(sha256(Buffer.concat([SMALL, BODY])));
    const all = BODY.byteLength + SMALL.byteLength;
    expect([one.receivedBytes, one.sentBytes, other.receivedBytes, other.sentBytes]).toEqual([all, all, all, all]);
    expect(moved()).toBeGreaterThan(0);
  } finally {
    stop();
  }
});

test("connections that are cut in the middle pass nothing more", async () => {
  const [client, server] = [newEnd(BODY), newEnd(Buffer.alloc(0))];
  const { one, other, stop } = await joined(client, server, true);
  try {
    await eventually("bytes pass", () => server.got.length > 2);
    one.destroy();
    other.destroy();
    const got = one.receivedBytes;
    await eventually("the server has seen the end", () => server.hasEnded);
    expect([one.receivedBytes, got < BODY.byteLength]).toEqual([got, true]);
  } finally {
    stop();
  }
});
