import { afterAll, beforeAll, expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { BOXYARD, boxyard, sandboxOf } from "./support.ts";

const platform = usePlatform();

/** Inside: POST gives the body reversed, GET /gone ends the connection, a WebSocket gives every message back and says how many are open. */
const SERVER = `
const { createServer } = require("node:http");
const { createHash } = require("node:crypto");
let open = 0;
const server = createServer((request, response) => {
  if (request.url === "/gone") return request.socket.destroy();
  if (request.url === "/open") return response.end(String(open));
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => response.end(Buffer.concat(chunks).reverse()));
});
server.on("upgrade", (request, socket, head) => {
  const accept = createHash("sha1").update(request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: " + accept + "\\r\\n\\r\\n");
  open++;
  socket.on("close", () => open--);
  socket.on("error", () => {});
  let data = head;
  const take = (chunk) => {
    data = Buffer.concat([data, chunk]);
    for (;;) {
      if (data.length < 2) return;
      const short = data[1] & 127;
      const at = short === 127 ? 10 : short === 126 ? 4 : 2;
      if (data.length < at) return;
      const length = short === 127 ? Number(data.readBigUInt64BE(2)) : short === 126 ? data.readUInt16BE(2) : short;
      if (data.length < at + 4 + length) return;
      const mask = data.subarray(at, at + 4);
      const payload = Buffer.from(data.subarray(at + 4, at + 4 + length)).map((byte, i) => byte ^ mask[i % 4]);
      const opcode = data[0] & 15;
      data = data.subarray(at + 4 + length);
      if (opcode === 8 || payload.toString() === "bye") {
        socket.end(Buffer.concat([Buffer.from([0x88, 2, 0x03, 0xe8])]));
        return;
      }
      const start = Buffer.alloc(10);
      start[0] = 0x80 | opcode;
      start[1] = 127;
      start.writeBigUInt64BE(BigInt(payload.length), 2);
      socket.write(Buffer.concat([start, payload]));
    }
  };
  socket.on("data", take);
  take(Buffer.alloc(0));
});
server.listen(8000);
`;

let sandbox: Awaited<ReturnType<typeof sandboxOf>>;
beforeAll(async () => {
  sandbox = await sandboxOf(platform());
  await boxyard(platform(), ["exec", "-b", sandbox.id, "--", "node", "-e", SERVER]);
}, 60_000);
afterAll(() => sandbox[Symbol.asyncDispose]());

interface Forward extends AsyncDisposable {
  readonly url: string;
  /** Ctrl-C; gives the exit code. */
  interrupt(): Promise<number>;
}

async function forward(remote = 8000): Promise<Forward> {
  const child = Bun.spawn([BOXYARD, "port", sandbox.id, `0:${remote}`], { env: platform().env, stdout: "pipe", stderr: "ignore" });
  const { value } = await child.stdout.getReader().read();
  const interrupt = () => {
    child.kill("SIGINT");
    return child.exited;
  };
  return { url: new TextDecoder().decode(value).trim(), interrupt, [Symbol.asyncDispose]: async () => void (await interrupt()) };
}

const isOpen = (url: string) => fetch(`${url}/open`).then(async (response) => response.ok && Number(await response.text()));

class Talk {
  readonly received: (string | ArrayBuffer)[] = [];
  readonly closed = Promise.withResolvers<number>();
  readonly socket: WebSocket;

  constructor(url: string) {
    this.socket = new WebSocket(url.replace("http:", "ws:"));
    this.socket.binaryType = "arraybuffer";
    this.socket.onmessage = ({ data }) => void this.received.push(data as string | ArrayBuffer);
    this.socket.onclose = ({ code }) => this.closed.resolve(code);
  }

  opened(): Promise<unknown> {
    return eventually("the WebSocket opens", () => this.socket.readyState === WebSocket.OPEN);
  }
}

test("HTTP requests and their bodies, also many at once", async () => {
  await using port = await forward();
  expect(port.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const post = (body: string) => fetch(port.url, { method: "POST", body }).then((response) => response.text());
  await eventually("the server inside answers", async () => (await post("abc").catch(() => "")) === "cba");
  const many = await Promise.all(Array.from({ length: 50 }, (_, i) => post(`${i}x`)));
  expect(many).toEqual(Array.from({ length: 50 }, (_, i) => `x${[...`${i}`].reverse().join("")}`));
  expect(await post("y".repeat(3_000_000))).toBe("y".repeat(3_000_000));
  await expect(fetch(`${port.url}/gone`)).resolves.toMatchObject({ status: 502 });
}, 60_000);

test("WebSockets: text, bytes, large messages; many at once; closed from either end", async () => {
  await using port = await forward();
  await eventually("the server inside answers", () => isOpen(port.url).then((count) => count === 0));
  const first = new Talk(port.url);
  await first.opened();
  const large = "ž".repeat(200_000);
  first.socket.send("hello");
  first.socket.send(Uint8Array.of(0, 255, 7));
  first.socket.send(large);
  await eventually("all came back", () => first.received.length === 3);
  expect([first.received[0], [...new Uint8Array(first.received[1] as ArrayBuffer)], first.received[2] === large]).toEqual([
    "hello",
    [0, 255, 7],
    true,
  ]);

  const others = Array.from({ length: 40 }, () => new Talk(port.url));
  await Promise.all(others.map((talk) => talk.opened()));
  for (const [i, { socket }] of others.entries()) socket.send(`I am ${i}`);
  await eventually("each got its own", () => others.every(({ received }, i) => received[0] === `I am ${i}`));
  expect(await isOpen(port.url)).toBe(41);

  for (const { socket } of others) socket.close();
  await eventually("inside, those are closed", () => isOpen(port.url).then((count) => count === 1));
  first.socket.send("bye");
  expect(await first.closed.promise).toBe(1000);
}, 60_000);

test("Ctrl-C closes what is open, and the port; a port where nothing listens is said", async () => {
  const port = await forward();
  const talk = new Talk(port.url);
  await talk.opened();
  expect(await port.interrupt()).toBe(130);
  expect(await talk.closed.promise).toBe(1006);
  await expect(fetch(port.url)).rejects.toThrow();
  await using wrong = await forward(8001);
  const refused = await fetch(wrong.url);
  expect([refused.status, await refused.text()]).toEqual([502, expect.stringContaining("port is not open")]);
}, 60_000);
