import { expect, test } from "bun:test";
import { once } from "node:events";
import { connect } from "node:http2";
import type { Socket } from "node:net";
import { AuthenticationError, ConnectionError, InvalidArgumentError, NotFoundError, Sandbox, SandboxEndedError } from "@boxyard/sdk";
import { connectTcp } from "@boxyard/sdk/tcp";
import { eventually, runProgram } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";

const platform = usePlatform();
const ours = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });

/** On loopback inside: speaks first, gives back what comes, and says after the end of the client's side how much that was. */
const SERVER = `
import socketserver
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"\\x00\\xffhello\\n")
        count = 0
        while data := self.request.recv(65536):
            count += len(data)
            self.request.sendall(data)
        self.request.sendall(b"%d bytes" % count)
class Server(socketserver.ThreadingTCPServer): allow_reuse_address = daemon_threads = True
Server(("127.0.0.1", 5432), Echo).serve_forever()
`;
const GREETING = "\0\xffhello\n";

async function all(socket: Socket): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of socket) pieces.push(piece);
  return Buffer.concat(pieces).toString("latin1");
}

/** Connects as soon as the program inside listens. */
const connected = (sandbox: Sandbox) =>
  eventually("the program inside listens", () =>
    connectTcp(sandbox, 5432).catch((error: unknown) => {
      if (!(error instanceof ConnectionError) || error.reason !== "port_not_open") throw error;
      return undefined;
    }),
  );

for (const network of [{}, { allowPublicTraffic: false }]) {
  test(`connectTcp gives a socket to a port, with ${JSON.stringify(network)}`, async () => {
    await using sandbox = await Sandbox.create({ ...ours(), network });
    const nothing = await connectTcp(sandbox, 5433).catch((error: unknown) => error);
    expect(nothing).toMatchObject({ name: "ConnectionError", reason: "port_not_open" });
    expect(await connectTcp(sandbox, 49983).catch((error: unknown) => error)).toBeInstanceOf(
      sandbox.trafficAccessToken === undefined ? InvalidArgumentError : AuthenticationError,
    );
    await sandbox.files.write("/tmp/server.py", SERVER);
    await sandbox.commands.run("exec python3 /tmp/server.py", { background: true, timeoutMs: 0 });

    const body = Buffer.alloc(3_000_000, "\xff\0\r\n", "latin1");
    const socket = await connected(sandbox);
    socket.end(body);
    expect((await all(socket)) === `${GREETING}${body.toString("latin1")}${body.length} bytes`).toBe(true);

    // Without what the SDK shows, nothing but HTTP is let in.
    const { url, headers } = sandbox.portAccess(5432);
    const fields = Object.entries(headers).flatMap(([name, value]) => (name.includes("token") ? [] : ["-H", `${name}: ${value}`]));
    const bare = [
      "curl",
      "-s",
      "-H",
      "Connection: Upgrade",
      "-H",
      "Upgrade: boxyard-tcp",
      ...fields,
      "-w",
      "%{http_code}",
      "-o",
      "/dev/null",
    ];
    expect((await runProgram([...bare, `${url}/`])).stdout).toBe("403");

    const held = await connected(sandbox);
    held.on("error", () => {}).resume();
    await sandbox.kill();
    await eventually("the end of the sandbox ends the connection", () => held.destroyed);
    expect(await connectTcp(sandbox, 5432).catch((error: unknown) => error)).toBeInstanceOf(
      sandbox.trafficAccessToken === undefined ? NotFoundError : SandboxEndedError,
    );
  }, 60_000);
}

/** HTTP/2 without TLS, as servers of gRPC speak it: gives each message back, and its status behind the answer. */
const GRPC_SERVER = `
require("http2").createServer().on("stream", (stream, fields) => {
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0", "grpc-message": fields[":path"] }));
  stream.pipe(stream);
}).listen(5432, "127.0.0.1");
`;

test("a client of gRPC calls a server inside on such a socket", async () => {
  await using sandbox = await Sandbox.create(ours());
  await sandbox.files.write("/tmp/server.js", GRPC_SERVER);
  await sandbox.commands.run("exec node /tmp/server.js", { background: true, timeoutMs: 0 });
  const socket = await connected(sandbox);
  const session = connect("http://inside", { createConnection: () => socket });
  session.on("error", () => {});
  const call = session.request({ ":method": "POST", ":path": "/a.Service/Call", "content-type": "application/grpc", te: "trailers" });
  const trailers = once(call, "trailers");
  const message = Buffer.from("\0\0\0\0\x05hello", "latin1");
  call.end(message);
  const pieces: Buffer[] = [];
  for await (const piece of call) pieces.push(piece);
  expect(Buffer.concat(pieces)).toEqual(message);
  expect((await trailers)[0]).toMatchObject({ "grpc-status": "0", "grpc-message": "/a.Service/Call" });
  session.destroy();
}, 60_000);

test("a connection that is aborted before it is there is an AbortError", async () => {
  await using sandbox = await Sandbox.create(ours());
  const failure = await connectTcp(sandbox, 5432, { signal: AbortSignal.abort() }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ name: "AbortError" });
});
