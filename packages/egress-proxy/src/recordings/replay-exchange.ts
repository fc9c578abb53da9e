import { createHash } from "node:crypto";
import type { RecordedExchange } from "@boxyard/driver/recordings";
import {
  ByteBuilder,
  ChunkedDecoder,
  type ClientConnection,
  type Exchange,
  ownResponse,
  type RequestHead,
  wantsContinue,
} from "@boxyard/http1";
import { type Origin, urlOf } from "./kept-request.ts";
import type { Played } from "./open-recording.ts";
import type { Wish } from "./recording-index.ts";
import type { Recordings, RecordingUser } from "./recordings.ts";

/** Longest body that is held until it is known whether its request is passed on; a longer one is a miss. */
const MAX_HELD = 8 << 20;
/** The same for all requests of a sandbox together, which has hundreds of connections. */
const MAX_ALL_HELD = 64 << 20;
const UPGRADE = "a WebSocket or another protocol, which no recording keeps";
const CONTINUE = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");

export interface ReplayParts {
  readonly recordings: Recordings;
  readonly user: RecordingUser;
  readonly address: string;
  readonly origin: Origin;
  readonly forms: readonly Buffer[];
  /** Passes the request on, and calls once it is over; undefined where nothing may be passed on. */
  readonly pass: ((onOver: () => void) => Exchange) | undefined;
}

/** Answers one request of a sandbox from a recording. What the recording does not have is refused, or passed on. */
export class ReplayExchange implements Exchange {
  private readonly parts: ReplayParts;
  private readonly request: RequestHead;
  private readonly client: ClientConnection;
  private readonly url: string;
  private readonly hash = createHash("sha256");
  private readonly decoder: ChunkedDecoder | undefined;
  private bodyBytes = 0;
  private readonly held = new ByteBuilder();
  /** What this request has of the sandbox's share. */
  private heldBytes = 0;
  private hasEnded = false;
  private isClosed = false;
  /** Takes over when the request is passed on. */
  private passed: Exchange | undefined;
  private drained: (() => void) | undefined;

  constructor(parts: ReplayParts, request: RequestHead, client: ClientConnection) {
    this.parts = parts;
    this.request = request;
    this.client = client;
    this.url = urlOf(parts.origin, request, parts.forms);
    this.decoder = request.framing.kind === "chunked" ? new ChunkedDecoder() : undefined;
    if (request.upgrade !== undefined) this.miss();
    else if (wantsContinue(request)) client.write(CONTINUE);
  }

  onBody(bytes: Buffer): void {
    if (this.passed) {
      this.passed.onBody(bytes);
      return;
    }
    const content = this.decoder ? this.decoder.push(bytes) : bytes;
    this.hash.update(content);
    this.bodyBytes += content.byteLength;
    if (!this.parts.pass) return;
    const { user } = this.parts;
    this.held.append(bytes);
    this.heldBytes += bytes.byteLength;
    user.heldBytes += bytes.byteLength;
    if (this.heldBytes > MAX_HELD || user.heldBytes > MAX_ALL_HELD) this.miss();
  }

  onBodyEnd(): void {
    this.hasEnded = true;
    if (this.passed) this.passed.onBodyEnd();
    else if (this.request.upgrade === undefined) void this.answer();
  }

  onClientDrain(): void {
    this.passed?.onClientDrain();
    this.drained?.();
  }

  onClientClosed(): void {
    this.isClosed = true;
    this.passed?.onClientClosed();
    this.release();
    this.drained?.();
  }

  onClientEnd(): void {
    this.passed?.onClientEnd?.();
  }

  private async answer(): Promise<void> {
    const { recordings, user } = this.parts;
    const { fields, method } = this.request;
    const digest = this.bodyBytes > 0 ? this.hash.digest("hex") : "";
    const wish: Wish = { method, url: this.url, digest, field: (name) => fields.get(name) };
    const played = await recordings.answer(user, wish);
    if (this.isClosed) {
      if (played) user.recording.done();
      return;
    }
    if (!played) {
      this.miss();
      return;
    }
    this.release();
    await this.play(played)
      .catch(() => this.client.abort())
      .finally(() => user.recording.done());
  }

  private async play({ exchange, body }: Played): Promise<void> {
    const { client, request } = this;
    client.write(headOf(exchange, request));
    // An archive may have a body where none may be: the client would take it for the next answer.
    if (hasBody(exchange, request))
      for await (const piece of body) {
        if (this.isClosed) return;
        if (!client.write(piece)) await this.untilDrained();
      }
    if (!this.isClosed) client.endResponse(request.keepAlive);
  }

  private untilDrained(): Promise<void> {
    if (this.isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      this.drained = resolve;
    });
  }

  /** Gives back what this request has of the sandbox's share, and the memory. */
  private release(): void {
    this.held.take();
    this.parts.user.heldBytes -= this.heldBytes;
    this.heldBytes = 0;
  }

  private miss(): void {
    const { recordings, address, user, pass } = this.parts;
    const { request, client, url } = this;
    recordings.reportMiss(address, user, { method: request.method, url, isPassed: pass !== undefined });
    if (pass) {
      this.passed = pass(() => this.release());
      if (this.held.byteLength > 0) this.passed.onBody(this.held.take());
      if (this.hasEnded) this.passed.onBodyEnd();
      return;
    }
    const lack = user.use.isIncomplete ? ", which is incomplete" : "";
    // 504 is what caches answer that may not ask their server (RFC 9111, 5.2.1.7).
    const fields = [["Content-Type", "text/plain; charset=utf-8"]] as const;
    const what = request.upgrade === undefined ? `no answer to ${request.method} ${url} is in the recording` : `${url} asks for ${UPGRADE}`;
    const message = `Boxyard: ${what}${lack}\n`;
    client.write(ownResponse(504, fields, message, { close: true, head: request.method === "HEAD" }));
    client.endResponse(false);
  }
}

const hasBody = ({ status }: RecordedExchange, { method }: RequestHead) => method !== "HEAD" && status !== 204 && status !== 304;

/** The head of a recorded answer, for this request. */
function headOf(exchange: RecordedExchange, request: RequestHead): Buffer {
  const { status, reason, answerFields, answer } = exchange;
  const { keepAlive } = request;
  const lines = answerFields.map(([name, value]) => `${name}: ${value}\r\n`);
  if (hasBody(exchange, request)) lines.push(`Content-Length: ${answer.bytes}\r\n`);
  if (!keepAlive) lines.push("Connection: close\r\n");
  return Buffer.from(`HTTP/1.1 ${status} ${reason}\r\n${lines.join("")}\r\n`, "latin1");
}
