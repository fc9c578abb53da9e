import {
  type BodyScanner,
  type ClientConnection,
  type Connection,
  type ConnectionOwner,
  type Exchange,
  forwardedRequest,
  forwardedResponse,
  type RequestHead,
  type ResponseHead,
  ResponseReader,
  scannerFor,
} from "@boxyard/http1";
import { type Attempt, connectToHost, type HostOwner, type Ways } from "./connect.ts";
import type { Admitted, Rules } from "./rules.ts";

const HTTP_PORT = 80;
const MAX_INTERIM = 32;

export interface HttpRelayParts {
  readonly rules: Rules;
  readonly ways: Ways;
}

/**
 * One request of a sandbox to port 80 and its answer. The host of each request decides, so a connection that began with an allowed host cannot go on with
 * another one; each request has a connection of its own to the server. Heads are parsed and written anew, bodies pass as bytes.
 */
export class HttpRelay implements Exchange, ConnectionOwner, Admitted, HostOwner {
  readonly host: string;
  private readonly request: RequestHead;
  private readonly client: ClientConnection;
  private readonly attempt: Attempt;
  private readonly retire: () => void;
  private readonly answers = new ResponseReader();
  private server: Connection | undefined;
  private early: Buffer[] = [];
  private response: ResponseHead | undefined;
  private scanner: BodyScanner | undefined;
  private interim = 0;
  private requestEnded = false;
  private tunnel = false;
  private isOver = false;

  /** `host` is allowed to the sandbox with this address. */
  constructor(parts: HttpRelayParts, address: string, host: string, request: RequestHead, client: ClientConnection) {
    this.host = host;
    this.request = request;
    this.client = client;
    client.pauseBody();
    this.attempt = connectToHost(parts.ways, host, HTTP_PORT, this);
    this.retire = parts.rules.admit(address, this);
  }

  // The sandbox's side.

  onBody(bytes: Buffer): void {
    if (this.isOver) return;
    if (!this.server) {
      this.early.push(bytes);
      this.client.pauseBody();
    } else if (!this.server.write(bytes)) this.client.pauseBody();
  }

  onBodyEnd(): void {
    this.requestEnded = true;
  }

  onClientDrain(): void {
    this.server?.resume();
  }

  onClientEnd(): void {
    this.server?.halfClose();
  }

  onClientClosed(): void {
    this.finish();
  }

  cut(): void {
    this.finish();
    this.client.abort();
  }

  // The server's side.

  onReached(server: Connection): void {
    this.server = server;
    server.owner = this;
    const free = server.write(Buffer.concat([forwardedRequest(this.request), ...this.early]));
    this.early = [];
    if (free) this.client.resumeBody();
  }

  onUnreachable(): void {
    this.cut();
  }

  onData(bytes: Buffer): void {
    if (this.isOver) return;
    try {
      if (this.tunnel) this.toClient(bytes);
      else if (this.response) this.passBody(bytes);
      else this.readHead(bytes);
    } catch {
      // The server does not speak HTTP.
      this.cut();
    }
  }

  onDrain(): void {
    this.client.resumeBody();
  }

  onEnd(): void {
    if (this.isOver) return;
    if (this.tunnel) this.client.connection.halfClose();
    else if (this.response?.framing.kind === "close") this.end(false);
    else this.cut();
  }

  onClose(): void {
    if (this.isOver) return;
    if (!this.tunnel) {
      this.cut();
      return;
    }
    this.finish();
    this.client.connection.end();
  }

  private readHead(bytes: Buffer): void {
    const response = this.answers.read(bytes, this.request.method);
    if (!response) return;
    const { rest } = this.answers;
    if (response.status === 101) this.openTunnel(response, rest);
    else if (response.status < 200) this.passInterim(response, rest);
    else this.begin(response, rest);
  }

  private passInterim(response: ResponseHead, rest: Buffer): void {
    this.interim += 1;
    if (this.interim > MAX_INTERIM) throw new Error("too many interim answers");
    if (this.request.minor === 1) this.client.write(forwardedResponse(response));
    if (rest.byteLength > 0) this.readHead(rest);
  }

  private openTunnel(response: ResponseHead, rest: Buffer): void {
    if (this.request.upgrade === undefined || !this.requestEnded) throw new Error("an upgrade that nobody asked for");
    this.tunnel = true;
    this.client.write(forwardedResponse(response));
    if (rest.byteLength > 0) this.toClient(rest);
    const early = this.client.becomeTunnel();
    if (early.byteLength > 0) this.onBody(early);
  }

  private begin(response: ResponseHead, rest: Buffer): void {
    this.response = response;
    this.scanner = scannerFor(response.framing);
    // A client of HTTP/1.0 knows no chunks. Such clients are rare, so the connection is reset instead of decoding the answer.
    if (this.request.minor === 0 && response.framing.kind === "chunked") throw new Error("chunks for a client of HTTP/1.0");
    const close = !this.request.keepAlive || response.framing.kind === "close";
    this.toClient(forwardedResponse(response, { close }));
    if (rest.byteLength > 0) this.passBody(rest);
    else if (this.scanner.done) this.end(this.request.keepAlive);
  }

  private passBody(bytes: Buffer): void {
    const scanner = this.scanner as BodyScanner;
    const count = scanner.done ? 0 : scanner.take(bytes, 0);
    if (count > 0) this.toClient(bytes.subarray(0, count));
    if (scanner.done) this.end(this.request.keepAlive);
  }

  private toClient(bytes: Uint8Array): void {
    if (!this.client.write(bytes)) this.server?.pause();
  }

  private end(keep: boolean): void {
    this.finish();
    this.client.endResponse(keep);
  }

  private finish(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.attempt.cancel();
    this.retire();
    const { server } = this;
    if (!server) return;
    server.owner = undefined;
    server.destroy();
  }
}
