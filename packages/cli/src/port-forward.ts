import { createServer, type Socket } from "node:net";
import { AppError } from "@boxyard/core";
import { dial } from "@boxyard/sdk/tcp";

export interface ForwardOptions {
  readonly apiUrl: string;
  readonly sandboxId: string;
  /** Port in the sandbox. */
  readonly remote: number;
  /** Local port; 0 takes any free one. */
  readonly local: number;
  readonly address: string;
}

export interface Forward extends AsyncDisposable {
  readonly port: number;
}

/** The head of a request may be this long; servers take about as much. */
const MAX_HEAD_BYTES = 64 * 1024;
const HEAD_END = Buffer.from("\r\n\r\n");

/**
 * Listens on a local port and passes each connection's bytes to the server, with the sandbox's address added to the head of its request:
 * the proxy routes by that. After the head it is bytes both ways, so that WebSockets and streams pass; each connection carries one request,
 * since a later one would need its own address.
 */
export function forwardPort(options: ForwardOptions): Promise<Forward> {
  return listen(options, (client, track) => relay(client, options, track));
}

type Serve = (client: Socket, track: (socket: Socket) => void) => void;

/** Listens on the local port. The end destroys the connections, and the sockets that `serve` has given to `track`. */
export async function listen(options: Pick<ForwardOptions, "local" | "address">, serve: Serve, allowHalfOpen = false): Promise<Forward> {
  const sockets = new Set<Socket>();
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  };
  const server = createServer({ allowHalfOpen }, (client) => {
    track(client);
    client.on("error", () => client.destroy());
    serve(client, track);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => {
      const message = `cannot listen on ${options.address}:${options.local}`;
      const details = { hint: "Another program may have the port: choose one as in `boxyard port SANDBOX 8081:8080`, or 0 for any." };
      reject(new AppError("unavailable", message, { reason: "listen", details, cause }));
    });
    server.listen(options.local, options.address, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : options.local,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function relay(client: Socket, options: ForwardOptions, track: (socket: Socket) => void): void {
  let head = Buffer.alloc(0);
  const onData = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf(HEAD_END);
    if (end < 0) {
      if (head.length > MAX_HEAD_BYTES) client.end("HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n");
      return;
    }
    client.off("data", onData);
    client.pause();
    const server = dial(options.apiUrl);
    track(server);
    server.on("error", () => {
      if (server.bytesRead === 0) client.end("HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\nno answer from the server\n");
      else client.destroy();
    });
    server.write(addressed(head.subarray(0, end).toString("latin1"), options));
    server.write(head.subarray(end));
    client.pipe(server);
    server.pipe(client);
    client.once("close", () => server.destroy());
    server.once("close", () => client.destroySoon());
  };
  client.on("data", onData);
}

/** The head with the sandbox's address; whatever the client said about these, and about keeping the connection, is left out. */
function addressed(head: string, options: Pick<ForwardOptions, "sandboxId" | "remote">): string {
  const [requestLine = "", ...lines] = head.split("\r\n");
  const isUpgrade = lines.some((line) => /^upgrade\s*:/i.test(line));
  const ours = isUpgrade ? /^(svc|e2b)-sandbox-(id|port)\s*:/i : /^((svc|e2b)-sandbox-(id|port)|connection|keep-alive)\s*:/i;
  const kept = lines.filter((line) => !ours.test(line));
  const added = [
    `Svc-Sandbox-Id: ${options.sandboxId}`,
    `Svc-Sandbox-Port: ${options.remote}`,
    ...(isUpgrade ? [] : ["Connection: close"]),
  ];
  return [requestLine, ...kept, ...added].join("\r\n");
}
