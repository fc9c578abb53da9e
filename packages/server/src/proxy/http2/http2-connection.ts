import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { type ClientConnection, type Connection, ConnectionStream, IDLE_MS, MAX_HEAD_BYTES, STALL_MS, type Takeover } from "@boxyard/http1";
import { RequestStream } from "./request-stream.ts";
import { requestText } from "./request-text.ts";

/** Requests at once on one connection, and bytes of a body that wait on either side. The library ends a connection that floods. */
const MAX_STREAMS = 100;
const WINDOW_BYTES = 256 << 10;
const SETTINGS = {
  maxHeaderListSize: MAX_HEAD_BYTES,
  initialWindowSize: WINDOW_BYTES,
  maxConcurrentStreams: MAX_STREAMS,
  enablePush: false,
};
/** Longest wait for the first request. */
const FIRST_MS = 15_000;
/** Longest wait for the next request of a client that was not yet let in anywhere; after that it is `IDLE_MS`, as with HTTP/1.1. */
const UNTRUSTED_IDLE_MS = 60_000;

/** A client's connection on which HTTP/2 is spoken. Each request gets a connection to the front of its own (`InnerSocket`). */
export class Http2Connection implements Takeover {
  private readonly client: ClientConnection;
  private readonly accept: (socket: Bun.Socket<Connection>, tls: boolean) => void;
  private readonly session: ServerHttp2Session;
  private readonly remoteAddress: string;
  /** Requests that are not over, and those of them whose answer is not complete. */
  private open = 0;
  private unanswered = 0;

  /** Takes the connection of `client`, which has not sent anything yet. `accept` is that of the front. */
  constructor(client: ClientConnection, accept: (socket: Bun.Socket<Connection>, tls: boolean) => void) {
    const { connection } = client;
    this.client = client;
    this.accept = accept;
    this.remoteAddress = connection.remoteAddress;
    const stream = new ConnectionStream(connection, () => client.onClose());
    client.takenBy = this;
    connection.deadline = client.now + FIRST_MS;
    this.session = performServerHandshake(stream, { settings: SETTINGS });
    this.session.setLocalWindowSize(WINDOW_BYTES);
    this.session.on("stream", (request, _fields, flags, raw: string[] = []) => this.begin(request, flags, raw));
    this.session.on("error", () => connection.destroy());
    this.session.on("close", () => connection.end());
  }

  get isIdle(): boolean {
    return this.unanswered === 0;
  }

  /** Takes no more requests, and ends with the last answer. */
  drain(): void {
    if (!this.session.closed) this.session.close();
  }

  private begin(stream: ServerHttp2Stream, flags: number, raw: readonly string[]): void {
    stream.on("error", () => {});
    const { connection } = this.client;
    const isWhole = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    const request = requestText(raw, isWhole);
    if (!request) {
      stream.close(constants.NGHTTP2_PROTOCOL_ERROR);
      return;
    }
    this.open += 1;
    this.unanswered += 1;
    connection.deadline = Number.POSITIVE_INFINITY;
    const passed = new RequestStream(stream, request, this.remoteAddress, (isTrusted) => this.answered(isTrusted));
    stream.on("close", () => {
      this.open -= 1;
      passed.closed();
      this.rest();
    });
    this.accept(passed.inner.socket, true);
    passed.start();
  }

  private answered(isTrusted: boolean): void {
    this.unanswered -= 1;
    if (isTrusted) this.client.trust();
    this.client.idleSince = this.client.now;
    this.rest();
  }

  /** A client that takes no answers must not hold its connection by them: they are complete, and wait for it. */
  private rest(): void {
    if (this.unanswered > 0) return;
    const idleMs = this.client.isTrusted ? IDLE_MS : UNTRUSTED_IDLE_MS;
    this.client.connection.deadline = this.client.now + (this.open > 0 ? STALL_MS : idleMs);
  }
}
