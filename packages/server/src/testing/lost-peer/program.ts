import { connect, createServer, type Socket } from "node:net";
import { type SandboxId, systemClock } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { Front } from "../../proxy/front.ts";
import { RouteTable } from "../../proxy/route-table.ts";
import { TEST_ID } from "../front.ts";

/* Plays one of three roles in a network namespace of its own. Each event is a line on standard output. */

const FRONT_PORT = 8080;
const SANDBOX_PORT = 9000;
const tell = (line: string) => process.stdout.write(`${line}\n`);

/** Answers `/stream` with an endless body, and any other path not at all. */
function sandbox(): void {
  const server = createServer((socket) => {
    let path = "";
    socket.on("error", () => {});
    socket.on("close", () => tell(`closed ${path}`));
    socket.on("data", (bytes) => {
      if (path !== "") return;
      path = bytes.toString().split(" ")[1] ?? "";
      tell(`asked ${path}`);
      if (path.startsWith("/stream")) stream(socket);
    });
  });
  server.listen(SANDBOX_PORT, () => tell("ready"));
}

function stream(socket: Socket): void {
  const more = () => {
    while (!socket.destroyed && socket.write(Buffer.alloc(16 << 10)));
  };
  socket.write("HTTP/1.1 200 OK\r\n\r\n");
  socket.on("drain", more);
  more();
}

function front(host: string, peerLimitMs: number): void {
  const routes = new RouteTable();
  routes.add({ sandboxId: TEST_ID as SandboxId, incarnation: 1, host, agentPort: SANDBOX_PORT, accessToken: "none" });
  const api = () => new Response("api");
  new Front({ hostname: "0.0.0.0", port: FRONT_PORT, routes, api, peerLimitMs, clock: systemClock, logger: silentLogger });
  tell("ready");
}

/** Requests `path`. `isDeaf`: reads only the first piece of the answer until a line comes on standard input. */
function client(host: string, path: string, isDeaf: boolean): void {
  const socket = connect(FRONT_PORT, host, () => {
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nSvc-Sandbox-Id: ${TEST_ID}\r\nSvc-Sandbox-Port: 49983\r\n\r\n`);
  });
  let bytes = 0;
  let isHeard = false;
  socket.on("error", () => {});
  socket.on("close", () => tell("closed"));
  socket.on("data", (piece: Buffer) => {
    if (bytes === 0) tell(`answer ${piece.toString("latin1").split(" ")[1]}`);
    bytes += piece.byteLength;
    if (isDeaf && !isHeard) socket.pause();
    if (isHeard && bytes > 32 << 20) {
      tell("much");
      socket.destroy();
    }
  });
  process.stdin.once("data", () => {
    isHeard = true;
    socket.resume();
  });
}

const [role, host = "", more = "", deaf] = process.argv.slice(2);
if (role === "sandbox") sandbox();
if (role === "front") front(host, Number(more));
if (role === "client") client(host, more, deaf === "deaf");
