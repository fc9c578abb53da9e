import type { Socket } from "node:net";
import { openTcp } from "@boxyard/sdk/tcp";
import { type Forward, type ForwardOptions, listen } from "./port-forward.ts";

export interface TcpForwardOptions extends ForwardOptions {
  /** A link of the port (`getPortUrl`) that is good for some minutes at least. `isRefused`: the last one was. */
  link(isRefused: boolean): Promise<URL>;
  /** Told why a connection came to nothing. */
  onProblem(message: string): void;
}

/** Listens on a local port, and passes the bytes of each connection to a port of the sandbox, whatever protocol they are of (docs/contract/routing.md, Other protocols). */
export function forwardTcp(options: TcpForwardOptions): Promise<Forward> {
  /** A link that was withdrawn since it was made is replaced. */
  const connected = async (track: (socket: Socket) => void): Promise<Socket> => {
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
      join(client, await connected(track));
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

async function connect({ apiUrl, sandboxId, remote }: ForwardOptions, link: URL, track: (socket: Socket) => void): Promise<Socket> {
  const headers = { "Svc-Sandbox-Id": sandboxId, "Svc-Sandbox-Port": `${remote}` };
  const opened = await openTcp({ url: apiUrl, headers, query: link.search }, track).catch((error: Error) => {
    throw new Error(`no connection to the server: ${error.message}`);
  });
  if (opened instanceof Response) throw new Refusal(opened.status, await problemOf(opened, remote));
  return opened;
}

async function problemOf(answer: Response, port: number): Promise<string> {
  const body = (await answer.json().catch(() => ({}))) as { message?: string };
  return `port ${port}: ${body.message ?? `the server answered ${answer.status}`}`;
}

/** Passes bytes both ways. Each side ends on its own; a side that fails ends the other. */
function join(client: Socket, server: Socket): void {
  client.on("error", () => server.destroy());
  server.on("error", () => client.destroy());
  client.once("close", () => server.destroySoon());
  server.once("close", () => client.destroySoon());
  server.pipe(client);
  client.pipe(server);
}
