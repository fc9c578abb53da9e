import type { Socket } from "bun";
import { ChunkedDecoder } from "../body.ts";
import { ClientConnection, type ClientHost } from "../client-connection.ts";
import type { Connection } from "../connection.ts";
import type { Exchange } from "../exchange.ts";
import { PLAIN_NAMES } from "../fields.ts";
import type { HeadError, RequestHead } from "../head.ts";

/** One request as our parser reads it. */
export interface Seen {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  /** In their order, names in lower case. */
  readonly fields: readonly (readonly [string, string])[];
  /** Its content, latin1. */
  readonly body: string;
}

export interface Recording {
  readonly requests: readonly Seen[];
  /** Status of the refusal that ended the connection, if one did; 0 when the connection was reset in the middle of a body. */
  readonly refused: number | undefined;
  readonly isOpen: boolean;
}

/** A socket in memory. */
class MemorySocket {
  isOpen = true;
  isPaused = false;
  private readonly connection: Connection;

  constructor(connection: Connection) {
    this.connection = connection;
    connection.attach(this as unknown as Socket<Connection>);
  }

  write(bytes: Uint8Array): number {
    return bytes.byteLength;
  }

  end(): void {
    this.close();
  }

  terminate(): void {
    this.close();
  }

  shutdown(): void {
    this.isOpen = false;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  private close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.connection.closed = true;
    this.connection.owner?.onClose();
  }
}

function answeringWith(seen: Seen[], request: RequestHead, client: ClientConnection, onBroken: () => void): Exchange {
  const { method, target, host, fields, framing, keepAlive } = request;
  const decoder = framing.kind === "chunked" ? new ChunkedDecoder() : undefined;
  let body = "";
  return {
    onBody(bytes) {
      body += (decoder ? decoder.push(bytes) : bytes).toString("latin1");
    },
    onBodyEnd() {
      const pairs = fields.lower.map((name, i) => [name, fields.value(i)] as const);
      seen.push({ method, target, host, fields: pairs, body });
      client.write(Buffer.from("HTTP/1.1 204 No Content\r\n\r\n"));
      client.endResponse(keepAlive);
    },
    onClientDrain() {},
    onClientClosed: onBroken,
  };
}

/** Answers at the end of the head, so that the connection drops the body. */
function answeringEarly(seen: Seen[], { method, target, host, keepAlive }: RequestHead, client: ClientConnection): Exchange {
  seen.push({ method, target, host, fields: [], body: "" });
  client.write(Buffer.from("HTTP/1.1 204 No Content\r\n\r\n"));
  client.endResponse(keepAlive);
  return { onBody() {}, onBodyEnd() {}, onClientDrain() {}, onClientClosed() {} };
}

/** Parses the pieces of one connection as a server that answers each request with 204; with `early` before the body. */
export function record(pieces: readonly Buffer[], { early = false } = {}): Recording {
  const requests: Seen[] = [];
  let refused: number | undefined;
  const host: ClientHost = {
    names: PLAIN_NAMES,
    exchange: (request, client) => {
      if (early) return answeringEarly(requests, request, client);
      return answeringWith(requests, request, client, () => {
        refused = 0;
      });
    },
    malformed: (error: HeadError) => {
      refused = error.status;
    },
    onClosed() {},
    now: () => 0,
  };
  const client = new ClientConnection(host);
  const socket = new MemorySocket(client.connection);
  for (const piece of pieces) {
    if (!socket.isOpen) break;
    if (socket.isPaused) throw new Error("the connection was paused, although every request is answered at once");
    client.onData(Buffer.from(piece));
  }
  return { requests, refused, isOpen: socket.isOpen };
}

/** The bytes in pieces of `size`. */
export function inPieces(bytes: Buffer, size: number): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.byteLength; at += size) pieces.push(bytes.subarray(at, at + size));
  return pieces;
}
