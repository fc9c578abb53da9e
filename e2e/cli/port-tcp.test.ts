import { expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, reconnect } from "../support/sandbox.ts";
import { BOXYARD, boxyard } from "./support.ts";

const platform = usePlatform();

/**
 * Inside, on loopback alone: a protocol in which the server speaks first, with frames of a length in 4 bytes, as databases have. `sum` answers the sum of the
 * bytes; after the end of the client's side it says how many frames there were.
 */
const SERVER = `
import socket, struct, threading
def whole(c, n):
    got = b""
    while len(got) < n:
        piece = c.recv(n - len(got))
        if not piece: return None
        got += piece
    return got
def serve(c):
    c.sendall(b"\\x00\\xffhello\\n")
    frames = 0
    while True:
        head = whole(c, 4)
        if head is None: break
        frames += 1
        c.sendall(struct.pack(">Q", sum(whole(c, struct.unpack(">I", head)[0]))))
    c.sendall(b"frames %d" % frames)
    c.close()
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", 5432))
s.listen(64)
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
`;

interface Forwarding extends AsyncDisposable {
  readonly port: number;
  /** What the command has said on standard error. */
  said(): string;
}

async function forward(id: string, remote: number): Promise<Forwarding> {
  const child = Bun.spawn([BOXYARD, "port", "--local", `0:${remote}`, id], { env: platform().env, stdout: "pipe", stderr: "pipe" });
  let text = "";
  void (async () => {
    for await (const piece of child.stderr) text += new TextDecoder().decode(piece);
  })();
  const { value } = await child.stdout.getReader().read();
  const port = Number(/^127\.0\.0\.1:(\d+)\n$/.exec(new TextDecoder().decode(value))?.[1]);
  const end = async () => {
    child.kill("SIGINT");
    await child.exited;
  };
  return { port, said: () => text, [Symbol.asyncDispose]: end };
}

class Client {
  readonly socket: Socket;
  private pieces: Buffer[] = [];
  ended = false;
  closed = false;

  constructor(port: number) {
    this.socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    this.socket.on("data", (piece) => this.pieces.push(Buffer.from(piece)));
    this.socket.on("end", () => {
      this.ended = true;
    });
    this.socket.on("error", () => {});
    this.socket.on("close", () => {
      this.closed = true;
    });
  }

  get bytes(): Buffer {
    this.pieces = [Buffer.concat(this.pieces)];
    return this.pieces[0] as Buffer;
  }

  has(count: number): Promise<Buffer> {
    return eventually(`${count} bytes came`, () => this.bytes.length >= count && this.bytes);
  }

  frame(body: Buffer): void {
    const head = Buffer.alloc(4);
    head.writeUInt32BE(body.length);
    this.socket.write(Buffer.concat([head, body]));
  }
}

const GREETING = Buffer.from("\0\xffhello\n", "latin1");
const sumOf = (body: Buffer) => BigInt(body.reduce((sum, byte) => sum + byte, 0));

async function greeted(port: number): Promise<Client> {
  const client = new Client(port);
  expect((await client.has(GREETING.length)).equals(GREETING)).toBe(true);
  return client;
}

/** The first connections come before the program listens: they are closed without a byte. */
async function untilServed(port: number): Promise<void> {
  await eventually("the program inside answers", async () => {
    const client = new Client(port);
    await eventually("an answer, or the end", () => client.bytes.length >= GREETING.length || client.closed || client.ended);
    client.socket.destroy();
    return client.bytes.length >= GREETING.length;
  });
}

test("a binary protocol to a private port on loopback: many at once, large frames, each side ends on its own", async () => {
  await using sandbox = await createSandbox(platform(), { network: { allowPublicTraffic: false } });
  await sandbox.client.files.write("/tmp/server.py", SERVER);
  await sandbox.client.commands.run("exec python3 /tmp/server.py", { background: true, timeoutMs: 0 });
  await using port = await forward(sandbox.id, 5432);
  await untilServed(port.port);
  const large = Buffer.alloc(5_000_000, "\xff\0\x0d\x0a", "latin1");
  await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      const client = await greeted(port.port);
      const body = i === 0 ? large : Buffer.from([i, 255, 0]);
      client.frame(body);
      const answer = await client.has(GREETING.length + 8);
      expect(answer.readBigUInt64BE(GREETING.length)).toBe(sumOf(body));
      client.socket.end();
      await eventually("the program has ended its side", () => client.ended);
      expect(client.bytes.subarray(GREETING.length + 8).toString()).toBe("frames 1");
    }),
  );

  // A port on which nothing listens ends the connection, and the command says why.
  await using wrong = await forward(sandbox.id, 5433);
  const refused = new Client(wrong.port);
  await eventually("the connection is closed", () => refused.closed || refused.ended);
  refused.socket.destroy();
  await eventually("the command says why", () => wrong.said().includes("port 5433: The sandbox is running but port is not open"));

  // Withdrawn links are replaced by new ones, since the command has a key.
  const open = await greeted(port.port);
  expect((await boxyard(platform(), ["sandbox", "port-url", sandbox.id, "5432", "--revoke"])).exitCode).toBe(0);
  await eventually("the connection of a withdrawn link is cut", () => open.closed || open.ended);
  open.socket.destroy();
  (await greeted(port.port)).socket.destroy();

  const last = await greeted(port.port);
  await sandbox.client.pause();
  await eventually("the pause ends the connection", () => last.closed || last.ended);
  last.socket.destroy();
  await reconnect(platform(), sandbox.id);
  await untilServed(port.port);
  const dying = await greeted(port.port);
  await sandbox.client.kill();
  await eventually("the end of the sandbox ends the connection", () => dying.closed || dying.ended);
  dying.socket.destroy();
}, 180_000);

test("either a port or --local", async () => {
  for (const args of [["x"], ["x", "80", "--local", "1:2"]]) {
    const { exitCode, stderr } = await boxyard(platform(), ["port", ...args]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("--local")]);
  }
});
