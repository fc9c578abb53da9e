import { type Clock, later } from "@boxyard/core";
import type { ClientConnection, ConnectionOwner } from "@boxyard/http1";
import { jsonResponse } from "./answers.ts";
import { InnerSocket } from "./http2/inner-socket.ts";

/** Connections whose handshake of TLS is waited for, to tell them that there is no room; more are reset. */
const MOST_WAITING = 256;
const WAIT_MS = 5000;

const ANSWER = jsonResponse(503, { code: 503, message: "The server has too many connections" }, true);
/** Of HTTP/2: settings, and GOAWAY before the first request (ENHANCE_YOUR_CALM), so the client knows that it may send all again. */
const GOAWAY = Buffer.concat([Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]), Buffer.from([0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11])]);

/** Connections of clients for which a front has no room. */
export class RefusedClients {
  private readonly clock: Clock;
  private readonly waiting = new Set<RefusedClient>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Says so, by the protocol of the client, and ends the connection. */
  add(client: ClientConnection, socket: unknown): void {
    if (!client.connection.tls || socket instanceof InnerSocket) {
      client.write(ANSWER);
      client.drain();
    } else if (this.waiting.size >= MOST_WAITING) client.abort();
    // Nothing can be said before the handshake, and the protocol is not known.
    else this.waiting.add(new RefusedClient(client, this.clock, (refused) => this.waiting.delete(refused)));
  }
}

/** One of them, until its handshake is over. */
export class RefusedClient implements ConnectionOwner {
  private readonly client: ClientConnection;
  private readonly leave: () => void;

  constructor(client: ClientConnection, clock: Clock, onClosed: (refused: RefusedClient) => void) {
    this.client = client;
    const stop = later(WAIT_MS, () => client.abort(), clock);
    this.leave = () => {
      stop();
      onClosed(this);
    };
    client.connection.owner = this;
  }

  /** Both sides have agreed on a protocol (ALPN). */
  onHandshake(protocol: string | undefined): void {
    this.client.write(protocol === "h2" ? GOAWAY : ANSWER);
    this.client.connection.halfClose();
  }

  onData(): void {}

  onDrain(): void {}

  onEnd(): void {
    this.client.connection.end();
  }

  onClose(): void {
    this.leave();
  }
}
