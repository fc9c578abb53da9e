import { expect, test } from "bun:test";
import { type SandboxId, systemClock } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { TEST_ID } from "../testing/front.ts";
import { Front } from "./front.ts";
import { RouteTable } from "./route-table.ts";

const HEAD = Buffer.from("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n");
const PIECE = Buffer.alloc(1 << 20, 7);
const PIECES = 8;
const ROUNDS = 20;

test("an answer without a length that a reset breaks off does not look complete, also where the kernel carries it", async () => {
  const server = Bun.listen<{ left: Buffer }>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        socket.data = { left: Buffer.alloc(0) };
      },
      data(socket) {
        socket.data.left = Buffer.concat([HEAD, ...Array.from({ length: PIECES }, () => PIECE)]);
        pour(socket);
      },
      drain: (socket) => pour(socket),
    },
  });
  const pour = (socket: Bun.Socket<{ left: Buffer }>) => {
    const { data } = socket;
    data.left = data.left.subarray(Math.max(0, socket.write(data.left)));
    // A reset, in the middle of the answer as far as the client can know.
    if (data.left.byteLength === 0) socket.terminate();
  };
  const routes = new RouteTable();
  routes.add({ sandboxId: TEST_ID as SandboxId, incarnation: 1, host: "127.0.0.1", agentPort: server.port, accessToken: "none" });
  const front = new Front({
    ...{ hostname: "127.0.0.1", port: 0, routes },
    api: () => new Response(),
    clock: systemClock,
    logger: silentLogger,
  });
  const ends: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const { promise, resolve } = Promise.withResolvers<string>();
    await Bun.connect({
      hostname: "127.0.0.1",
      port: front.port,
      allowHalfOpen: true,
      socket: {
        open: (socket) => void socket.write(`GET / HTTP/1.1\r\nHost: x\r\nSvc-Sandbox-Id: ${TEST_ID}\r\nSvc-Sandbox-Port: 49983\r\n\r\n`),
        data() {},
        end(socket) {
          resolve("complete");
          socket.end();
        },
        close: () => resolve("broken off"),
        error: () => resolve("broken off"),
      },
    });
    ends.push(await promise);
  }
  expect(ends).toEqual(Array.from({ length: ROUNDS }, () => "broken off"));
  await front.close(0);
  server.stop(true);
});
