/** A program for Node: a WebSocket echo, and "plain" to other requests, without any library: what the base template has is enough. */
export const echoProgram = (host: string, port: number): string => `
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
server.listen(${port}, "${host}");
`;
