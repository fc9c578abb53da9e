import { constants, type ServerHttp2Stream } from "node:http2";
import {
  type BodyScanner,
  ChunkedDecoder,
  ClientConnection,
  HeadError,
  type ResponseHead,
  ResponseReader,
  scannerFor,
} from "@boxyard/http1";
import { type InnerPeer, InnerSocket } from "./inner-socket.ts";
import type { RequestText } from "./request-text.ts";

const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR } = constants;
const LAST_CHUNK = Buffer.from("0\r\n\r\n");
const LINE_END = Buffer.from("\r\n");
/** Of one connection, not of an answer (RFC 9113, 8.2.2). */
const OF_CONNECTION = new Set(["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]);

/** One request of a client by HTTP/2: goes to the front as a request of HTTP/1.1 on a connection of its own, and its answer comes back. */
export class RequestStream implements InnerPeer {
  readonly inner: InnerSocket;
  private readonly stream: ServerHttp2Stream;
  private readonly request: RequestText;
  private readonly reader = new ResponseReader();
  private sent = 0;
  private head: ResponseHead | undefined;
  private scanner: BodyScanner | undefined;
  private decoder: ChunkedDecoder | undefined;
  /** The answer is complete, or none will be. */
  private isDone = false;
  private isBlocked = false;
  private readonly onAnswered: (isTrusted: boolean) => void;

  /** `onAnswered` is called once, when the answer is complete, or none will be; `isTrusted`: the client has shown what the request needs. */
  constructor(stream: ServerHttp2Stream, request: RequestText, remoteAddress: string, onAnswered: (isTrusted: boolean) => void) {
    this.stream = stream;
    this.request = request;
    this.onAnswered = onAnswered;
    this.inner = new InnerSocket(remoteAddress, this);
  }

  /** The front has taken the inner connection. */
  start(): void {
    const { stream, inner, request } = this;
    // It may have refused the connection.
    if (this.isDone) return;
    stream.on("drain", () => {
      this.isBlocked = false;
      inner.drained();
    });
    inner.receive(Buffer.from(request.head, "latin1"));
    if (request.isWhole) return;
    stream.on("data", (piece: Buffer) => this.sendBody(piece));
    stream.on("end", () => this.endBody());
  }

  /** The stream has closed. */
  closed(): void {
    this.done();
    this.inner.close();
  }

  take(bytes: Uint8Array): number {
    if (this.isDone || this.stream.destroyed) return bytes.byteLength;
    if (this.isBlocked) return 0;
    try {
      this.read(Buffer.from(bytes));
    } catch (error) {
      if (!(error instanceof HeadError)) throw error;
      this.fail();
    }
    return bytes.byteLength;
  }

  onEnd(): void {
    if (this.isDone) return;
    if (this.head?.framing.kind === "close") this.finish();
    else this.fail();
  }

  onReset(): void {
    if (!this.isDone) this.fail();
  }

  onPause(): void {
    this.stream.pause();
  }

  onResume(): void {
    if (!this.stream.destroyed) this.stream.resume();
  }

  private sendBody(piece: Buffer): void {
    const { length } = this.request;
    this.sent += piece.byteLength;
    if (length === "chunked") this.inner.receive(Buffer.concat([Buffer.from(`${piece.byteLength.toString(16)}\r\n`), piece, LINE_END]));
    else if (this.sent <= length) this.inner.receive(piece);
    else this.fail();
  }

  private endBody(): void {
    const { length } = this.request;
    if (length === "chunked") this.inner.receive(LAST_CHUNK);
    else if (this.sent < length) this.fail();
  }

  private read(bytes: Buffer): void {
    let left = bytes;
    while (!this.head) {
      const head = this.reader.read(left, this.request.method);
      if (!head) return;
      left = this.reader.rest;
      // The client sends its body without being asked.
      if (head.status >= 200) this.begin(head);
      if (left.byteLength === 0) return;
    }
    this.pass(left);
  }

  private begin(head: ResponseHead): void {
    this.head = head;
    this.scanner = scannerFor(head.framing);
    if (head.framing.kind === "chunked") this.decoder = new ChunkedDecoder();
    const isEmpty = this.scanner.done;
    this.stream.respond(answerFields(head), { endStream: isEmpty, ...{ sendDate: false } });
    if (isEmpty) this.finish();
  }

  private pass(bytes: Buffer): void {
    const scanner = this.scanner as BodyScanner;
    const wire = bytes.subarray(0, scanner.take(bytes, 0));
    const content = this.decoder ? this.decoder.push(wire) : wire;
    if (content.byteLength > 0 && !this.stream.write(content)) this.isBlocked = true;
    if (scanner.done) this.finish();
  }

  private finish(): void {
    this.done();
    const { stream, inner } = this;
    if (!stream.writableEnded) stream.end();
    // Once the front has noted that its answer is complete.
    setImmediate(() => inner.close());
    if (stream.readableEnded || this.request.isWhole) return;
    // Answered before the whole request came: no more of it is wanted.
    const close = () => stream.close(NGHTTP2_NO_ERROR);
    if (stream.writableFinished) close();
    else stream.once("finish", close);
  }

  /** Resets the request: the client must not take a part of an answer for all of it. */
  private fail(): void {
    this.done();
    if (!this.stream.destroyed) {
      if (this.head) this.stream.destroy(new Error("the answer was cut off"));
      else this.stream.close(NGHTTP2_CANCEL);
    }
    this.inner.close();
  }

  /** Repeatable. */
  private done(): void {
    if (this.isDone) return;
    this.isDone = true;
    const { owner } = this.inner.data;
    this.onAnswered(owner instanceof ClientConnection && owner.isTrusted);
  }
}

function answerFields({ status, fields }: ResponseHead): Record<string, string | string[] | number> {
  const list: Record<string, string | string[] | number> = Object.create(null);
  list[":status"] = status;
  for (let i = 0; i < fields.count; i++) {
    const name = fields.lower[i] as string;
    if (OF_CONNECTION.has(name)) continue;
    const [before, value] = [list[name], fields.value(i)];
    if (before === undefined) list[name] = name === "set-cookie" ? [value] : value;
    else if (Array.isArray(before)) before.push(value);
    // The library takes no lists of most names; one line says the same (RFC 9110, 5.3).
    else list[name] = `${before}, ${value}`;
  }
  return list;
}
