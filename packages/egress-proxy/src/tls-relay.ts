import type { Connection, ConnectionOwner } from "@boxyard/http1";
import { parseClientHello } from "./client-hello.ts";
import { type Attempt, connectToHost, type HostOwner, type Ways } from "./connect.ts";
import type { Admitted, Rules } from "./rules.ts";

const HTTPS_PORT = 443;
/** Longest time until the client has sent its first message. */
const HELLO_MS = 15_000;

export interface TlsRelayParts {
  readonly rules: Rules;
  readonly ways: Ways;
  /** Monotonic ms. */
  readonly now: () => number;
}

/**
 * One connection of a sandbox to port 443. It reads the first message for the name of the server, connects to that server, and passes the bytes of both
 * sides on unchanged: TLS stays between sandbox and server. A connection that is not allowed is reset.
 */
export class TlsRelay implements ConnectionOwner, Admitted, HostOwner {
  host = "";
  private readonly parts: TlsRelayParts;
  private readonly address: string;
  private readonly client: Connection;
  private received: Buffer = Buffer.alloc(0);
  private attempt: Attempt | undefined;
  private server: Connection | undefined;
  private retire = () => {};
  private readonly leave: () => void;

  /** `leave` is called once, when the connection has ended. */
  constructor(parts: TlsRelayParts, address: string, client: Connection, leave: () => void) {
    this.parts = parts;
    this.address = address;
    this.client = client;
    this.leave = leave;
    client.owner = this;
    client.deadline = parts.now() + HELLO_MS;
  }

  // The sandbox's side.

  onData(bytes: Buffer): void {
    if (this.server) {
      if (!this.server.write(bytes)) this.client.pause();
      return;
    }
    this.received = Buffer.concat([this.received, bytes]);
    if (this.attempt) this.client.pause();
    else this.readHello();
  }

  onEnd(): void {
    if (this.server) this.server.halfClose();
    else this.cut();
  }

  onDrain(): void {
    this.server?.resume();
  }

  onClose(): void {
    this.finish();
    this.server?.end();
  }

  cut(): void {
    this.client.destroy();
    this.server?.destroy();
    this.finish();
  }

  private readHello(): void {
    const hello = parseClientHello(this.received);
    if (hello.kind === "more") return;
    const host = hello.kind === "hello" ? this.parts.rules.allowed(this.address, hello.serverName) : undefined;
    if (host === undefined) {
      this.cut();
      return;
    }
    this.host = host;
    this.client.deadline = Number.POSITIVE_INFINITY;
    this.client.pause();
    this.attempt = connectToHost(this.parts.ways, host, HTTPS_PORT, this);
    this.retire = this.parts.rules.admit(this.address, this);
  }

  // The server's side.

  onReached(server: Connection): void {
    this.server = server;
    server.owner = {
      onData: (bytes) => {
        if (!this.client.write(bytes)) server.pause();
      },
      onEnd: () => this.client.halfClose(),
      onDrain: () => this.client.resume(),
      onClose: () => this.client.end(),
    };
    const first = this.received;
    this.received = Buffer.alloc(0);
    if (server.write(first)) this.client.resume();
  }

  onUnreachable(): void {
    this.cut();
  }

  private finish(): void {
    this.attempt?.cancel();
    this.retire();
    this.leave();
  }
}
