import type { Socket } from "node:net";
import { dial, type Forward, type ForwardOptions, listen } from "./port-forward.ts";

export interface TcpForwardOptions extends ForwardOptions {
  /** A link of the port (`getPortUrl`) that is good for some minutes at least. `isRefused`: the last one was. */
  link(isRefused: boolean): Promise<URL>;
  /** Told why a connection came to nothing. */
  onProblem(message: string): void;
}

/** The head of an answer, and the body of one that refuses, may be this long. */
const MAX_ANSWER_BYTES = 64 * 1024;
const HEAD_END = Buffer.from("\r\n\r\n");

/** Listens on a local port, and passes the bytes of each connection to a port of the sandbox, whatever protocol they are of (docs/contract/routing.md, Other protocols). */
export function forwardTcp(options: TcpForwardOptions): Promise<Forward> {
  /** A link that was withdrawn since it was made is replaced. */
  const connected = async (track: (socket: Socket) => void): Promise<Connected> => {
    try {
      return await connect(options, await options.link(false), track);
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 403) throw error;
      return connect(options, await options.link(true), track);
    }
  };
  const serve = async (client: Socket, track: (socket: Socket) => void) => {
    client.pause();
    try {
      const { server, rest } = await connected(track);
      join(client, server, rest);
    } catch (error) {
      options.onProblem(error instanceof Error ? error.message : String(error));
      client.destroy();
    }
  };
  return listen(options, (client, track) => void serve(client, track), true);
}

/** The server's answer to a request for a connection, when it is none. */
class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

interface Connected {
  readonly server: Socket;
  /** Bytes of the sandbox that came with the answer. */
  readonly rest: Buffer;
}

function connect({ apiUrl, sandboxId, remote }: ForwardOptions, link: URL, track: (socket: Socket) => void): Promise<Connected> {
  const server = dial(apiUrl, true);
  track(server);
  server.write(
    [
      `GET /?${link.searchParams} HTTP/1.1`,
      `Host: ${new URL(apiUrl).host}`,
      "Connection: Upgrade",
      "Upgrade: boxyard-tcp",
      `Svc-Sandbox-Id: ${sandboxId}`,
      `Svc-Sandbox-Port: ${remote}`,
      "\r\n",
    ].join("\r\n"),
  );
  return new Promise((resolve, reject) => {
    let got = Buffer.alloc(0);
    const onData = (chunk: Buffer) => {
      got = Buffer.concat([got, chunk]);
      const end = got.indexOf(HEAD_END);
      if (end >= 0 && statusOf(got) === 101) {
        server.off("data", onData);
        server.pause();
        resolve({ server, rest: got.subarray(end + HEAD_END.length) });
      } else if (got.length > MAX_ANSWER_BYTES) server.destroy();
    };
    server.on("data", onData);
    // Any other answer is the last one on its connection.
    server.once("end", () => {
      const status = statusOf(got);
      if (status === 101) return;
      server.destroy();
      const body = got.subarray(got.indexOf(HEAD_END) + HEAD_END.length).toString();
      reject(new Refusal(status, problemOf(status, body, remote)));
    });
    server.once("error", (error) => reject(new Error(`no connection to the server: ${error.message}`)));
    server.once("close", () => reject(new Error("the server has closed the connection")));
  });
}

/** Status of the answer that begins so; 0 when it is not one of HTTP. */
const statusOf = (answer: Buffer): number => Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer.subarray(0, 20).toString("latin1"))?.[1] ?? 0);

function problemOf(status: number, body: string, port: number): string {
  try {
    return `port ${port}: ${(JSON.parse(body) as { message: string }).message}`;
  } catch {
    return `port ${port}: the server answered ${status}`;
  }
}

/** Passes bytes both ways. Each side ends on its own; a side that fails ends the other. */
function join(client: Socket, server: Socket, rest: Buffer): void {
  client.on("error", () => server.destroy());
  server.on("error", () => client.destroy());
  client.once("close", () => server.destroySoon());
  server.once("close", () => client.destroySoon());
  if (rest.length > 0) client.write(rest);
  server.pipe(client);
  client.pipe(server);
}
