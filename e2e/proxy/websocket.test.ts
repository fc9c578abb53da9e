import { expect, test } from "bun:test";
import { once } from "node:events";
import { eventually } from "@boxyard/testkit";
import WebSocket from "ws";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";

const platform = usePlatform();

/** A WebSocket echo without any library: what the base template has is enough. */
const ECHO = `
const http = require("node:http"), crypto = require("node:crypto");
const server = http.createServer((request, response) => response.end("plain"));
server.on("upgrade", (request, socket) => {
  const accept = crypto.createHash("sha1").update(request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: " + accept + "\\r\\n\\r\\n");
  let held = Buffer.alloc(0);
  socket.on("data", (piece) => {
    held = Buffer.concat([held, piece]);
    for (;;) {
      if (held.length < 2) return;
      let length = held[1] & 127, at = 2;
      if (length === 126) { if (held.length < 4) return; length = held.readUInt16BE(2); at = 4; }
      if (length === 127) { if (held.length < 10) return; length = Number(held.readBigUInt64BE(2)); at = 10; }
      if (held.length < at + 4 + length) return;
      const mask = held.subarray(at, at + 4), data = Buffer.from(held.subarray(at + 4, at + 4 + length));
      for (let i = 0; i < data.length; i++) data[i] ^= mask[i % 4];
      const opcode = held[0] & 15;
      held = held.subarray(at + 4 + length);
      const head = length < 126 ? Buffer.from([128 | opcode, length]) : Buffer.alloc(length < 65536 ? 4 : 10);
      if (length >= 126) { head[0] = 128 | opcode; head[1] = length < 65536 ? 126 : 127; length < 65536 ? head.writeUInt16BE(length, 2) : head.writeBigUInt64BE(BigInt(length), 2); }
      socket.write(Buffer.concat([head, data]));
      if (opcode === 8) socket.end();
    }
  });
  socket.on("error", () => {});
});
server.listen(8080, "0.0.0.0");
`;

async function echoServer(): Promise<HeldSandbox> {
  const sandbox = await createSandbox(platform());
  await sandbox.client.files.write("/tmp/echo.js", ECHO);
  await sandbox.client.commands.run("node /tmp/echo.js", { background: true, timeoutMs: 0 });
  await eventually("the server answers", async () => (await fetch(platform().apiUrl, { headers: byHeaders(sandbox) })).status === 200);
  return sandbox;
}

const byHeaders = (sandbox: HeldSandbox) => ({ "Svc-Sandbox-Id": sandbox.id, "Svc-Sandbox-Port": "8080" });
const byHost = (sandbox: HeldSandbox) => ({ Host: `8080-${sandbox.id}.sandboxes.test` });

for (const [name, route] of Object.entries({ "by headers": byHeaders, "by host name": byHost })) {
  test(`a WebSocket ${name} carries text and binary both ways and closes`, async () => {
    await using sandbox = await echoServer();
    const socket = new WebSocket(platform().apiUrl.replace("http", "ws"), { headers: route(sandbox) });
    await once(socket, "open");
    const echo = async (data: string | Buffer) => {
      const answer = once(socket, "message");
      socket.send(data);
      return Buffer.from((await answer)[0] as Buffer);
    };
    expect((await echo("ahoj")).toString()).toBe("ahoj");
    const large = Buffer.alloc(500_000, 7);
    expect((await echo(large)).equals(large)).toBe(true);
    const closed = once(socket, "close");
    socket.close(1000);
    await closed;
  });
}

test("a WebSocket to a sandbox that ends is closed", async () => {
  await using sandbox = await echoServer();
  const socket = new WebSocket(platform().apiUrl.replace("http", "ws"), { headers: byHeaders(sandbox) });
  await once(socket, "open");
  socket.on("error", () => {});
  const closed = once(socket, "close");
  await sandbox.client.kill();
  await closed;
  expect(socket.readyState).toBe(WebSocket.CLOSED);
});
