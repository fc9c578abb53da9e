import { ptr } from "bun:ffi";
import { expect, test } from "bun:test";
import { fstatSync } from "node:fs";
import { lazyLibc } from "@boxyard/core/libc";
import type { ConnectInside } from "@boxyard/http1";
import { eventually } from "@boxyard/testkit";
import { TEST_ID, TestFront } from "../testing/front.ts";
import { connectRaw, RawServer } from "../testing/raw.ts";

/** A port on which nobody listens. */
function closedPort(): number {
  const server = new RawServer();
  const { port } = server;
  server.stop();
  return port;
}

const libc = lazyLibc("socket", "connect");

/** Connects as a driver does, but without a namespace. */
function connected(port: number): number {
  const address = new Uint8Array([2, 0, port >> 8, port & 255, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  const fd = libc().socket(2, 1, 0);
  if (fd < 0 || libc().connect(fd, ptr(address), 16) < 0) throw new Error("not connected");
  return fd;
}

async function ask(front: TestFront, port: number, inside: ConnectInside): Promise<string> {
  front.route({ inside });
  const client = await connectRaw(front.front.port);
  client.send(`GET / HTTP/1.1\r\n${front.headers(port)}Connection: close\r\n\r\n`);
  return client.isClosed();
}

test("a port that refuses from outside is tried inside", async () => {
  await using front = new TestFront();
  const asked: number[] = [];
  const port = closedPort();
  const answering = front.upstream.peer(0).then(async (peer) => {
    await peer.includes("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\ninside");
  });
  const text = await ask(front, port, async (wanted) => {
    asked.push(wanted);
    return connected(front.upstream.port);
  });
  await answering;
  expect(text).toContain("200 OK");
  expect(text).toEndWith("inside");
  expect(asked).toEqual([port]);
});

test.each<[string, ConnectInside]>([
  ["nothing listens there either", async () => undefined],
  ["the driver fails", () => Promise.reject(new Error("no"))],
])("the port is closed when %s", async (_why, inside) => {
  await using front = new TestFront();
  expect(await ask(front, closedPort(), inside)).toContain("The sandbox is running but port is not open");
});

test("a connection that is made after its client has gone is closed", async () => {
  await using front = new TestFront();
  const [begun, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let fd = -1;
  let hasGivenUp = false;
  front.route({
    inside: async (_port, signal) => {
      signal.addEventListener("abort", () => {
        hasGivenUp = true;
      });
      begun.resolve();
      await gone.promise;
      fd = connected(front.upstream.port);
      return fd;
    },
  });
  const client = await connectRaw(front.front.port);
  client.send(`GET / HTTP/1.1\r\n${front.headers(closedPort())}\r\n`);
  await begun.promise;
  const { flights } = front.routes.find(TEST_ID) ?? { flights: new Set() };
  client.reset();
  await eventually("the driver is told to give up", () => hasGivenUp);
  // The attempt counts for the sandbox's limit until it has ended.
  expect(flights.size).toBe(1);
  gone.resolve();
  const isOpen = () => {
    try {
      return fstatSync(fd).isSocket();
    } catch {
      return false;
    }
  };
  await eventually("the connection is made and closed", () => fd >= 0 && !isOpen());
  expect(flights.size).toBe(0);
});
