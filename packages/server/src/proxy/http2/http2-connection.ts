import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { type ClientConnection, type Connection, ConnectionStream, MAX_HEAD_BYTES, type Takeover } from "@boxyard/http1";
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
/** Longest time without a request. */
const FIRST_MS = 15_000;
const IDLE_MS = 60_000;

/** A client's connection on which HTTP/2 is spoken. Each request gets a connection to the front of its own (`InnerSocket`). */
export class Http2Connection implements Takeover {
  private readonly client: ClientConnection;
  private readonly accept: (socket: Bun.Socket<Connection>, tls: boolean) => void;
  private readonly session: ServerHttp2Session;
  private readonly remoteAddress: string;
  private open = 0;

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
    return this.open === 0;
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
    connection.deadline = Number.POSITIVE_INFINITY;
    stream.on("close", () => {
      this.open -= 1;
      if (this.open === 0) connection.deadline = this.client.now + IDLE_MS;
    });
    const passed = new RequestStream(stream, request, this.remoteAddress);
    this.accept(passed.inner.socket, true);
    passed.start();
  }
}
