import { isIP, connect as netConnect, type Socket } from "node:net";
import { type ConnectionOptions, connect as tlsConnect } from "node:tls";

/** @internal A port of a sandbox, with what opens it. */
export interface TcpTarget {
  /** Base URL of the server, without a slash at the end. */
  readonly url: string;
  /** The routing headers, and the traffic token if the ports are private. */
  readonly headers: Readonly<Record<string, string>>;
  /** Query of a link of the port (`?boxyard_link=…`), or nothing. */
  readonly query: string;
}

/** The head of an answer, and the body of one that refuses, may be this long. */
const MAX_ANSWER_BYTES = 64 * 1024;
const HEAD_END = Buffer.from("\r\n\r\n");

/**
 * @internal Asks the server for a connection to the port (docs/contract/routing.md, Other protocols). What the socket receives from then on is what the
 * sandbox sends; each side ends on its own. Resolves with the server's answer when that refuses. `onSocket` is called at once.
 */
export function openTcp({ url, headers, query }: TcpTarget, onSocket: (socket: Socket) => void = () => {}): Promise<Socket | Response> {
  const { host, pathname } = new URL(url);
  const socket = dial(url, true);
  onSocket(socket);
  const fields = { Host: host, Connection: "Upgrade", Upgrade: "boxyard-tcp", ...headers };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET ${pathname.replace(/\/$/, "")}/${query} HTTP/1.1\r\n${lines.join("")}\r\n`);
  return new Promise((resolve, reject) => {
    let got = Buffer.alloc(0);
    // Not by `data`: a stream that has flowed would lose what comes before the caller listens, or not flow again by itself once it was paused.
    const onReadable = () => {
      for (let piece = socket.read() as Buffer | null; piece; piece = socket.read()) got = Buffer.concat([got, piece]);
      const end = got.indexOf(HEAD_END);
      if (end >= 0 && statusOf(got) === 101) {
        for (const [event, listener] of Object.entries(listeners)) socket.off(event, listener as () => void);
        const rest = got.subarray(end + HEAD_END.length);
        if (rest.length > 0) socket.unshift(rest);
        resolve(socket);
      } else if (got.length > MAX_ANSWER_BYTES) socket.destroy();
    };
    // Any other answer is the last one on its connection.
    const onEnd = () => {
      socket.destroy();
      const status = statusOf(got);
      const body = got.subarray(got.indexOf(HEAD_END) + HEAD_END.length);
      if (status < 200) reject(new Error("the server has closed the connection"));
      else resolve(new Response(new Uint8Array(body), { status }));
    };
    const onClose = () => reject(new Error("the server has closed the connection"));
    const listeners: Record<string, (...args: never[]) => void> = { readable: onReadable, end: onEnd, error: reject, close: onClose };
    for (const [event, listener] of Object.entries(listeners)) socket.on(event, listener as () => void);
  });
}

/** @internal A connection to the server. */
export function dial(url: string, allowHalfOpen = false): Socket {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  // An address is no name of a server (RFC 6066, 3): Bun refuses it, Node warns.
  const secured = { host, port: Number(port || 443), ...(isIP(host) === 0 && { servername: host }) };
  // Node's documents have `allowHalfOpen` here; its types do not.
  if (protocol === "https:") return tlsConnect(Object.assign(secured, { allowHalfOpen }) as ConnectionOptions);
  return netConnect({ host, port: Number(port || 80), allowHalfOpen });
}

/** Status of the answer that begins so; 0 when it is not one of HTTP. */
const statusOf = (answer: Buffer): number => Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer.subarray(0, 20).toString("latin1"))?.[1] ?? 0);
