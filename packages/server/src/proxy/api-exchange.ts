import { AppError, later } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { ChunkedDecoder, type ClientConnection, type Exchange, ownResponse, type RequestHead, wantsContinue } from "@boxyard/http1";
import { CORS, jsonResponse } from "./answers.ts";
import type { AccessFacts, ApiCall, ApiHandler } from "./api-call.ts";
import { BodyCollector } from "./body-collector.ts";
import { BodyStream, tooLarge } from "./body-stream.ts";
import type { ClientAddress } from "./client-address.ts";

/** A client whose body pauses for longer is cut off. Bodies of the API are small. */
const BODY_IDLE_MS = 30_000;
/** The same for bodies that are read as streams, which may be large. The time that the reader takes counts too. */
const STREAM_IDLE_MS = 640_000;
/** A body that the handler did not read is discarded up to this size, so that the connection can serve again; a longer one ends the connection. */
const MAX_UNWANTED_BYTES = 64 << 10;

/** Types of answers that are streamed; other answers are short, and sent as a whole. */
const STREAMED = /^(text\/event-stream|application\/(x-ndjson|x-tar))(;|$)/;
/** A client that takes nothing of a stream for longer is cut off. */
const STALL_MS = 120_000;

export interface ApiExchangeOptions {
  readonly api: ApiHandler;
  readonly logger: Logger;
  /** Tells the client's address; by default it is that of the connection. */
  readonly clientAddress?: ClientAddress;
  /** Another server has passed the request on: whether the client speaks TLS is what that server says, and not a matter of this connection. */
  readonly isPassedOn?: boolean;
}

/** A request to the platform API: its body is read when the handler asks for it. */
export class ApiExchange implements Exchange, ApiCall {
  noted: AccessFacts = {};
  readonly address: string;
  private readonly request: RequestHead;
  private readonly client: ClientConnection;
  private readonly options: ApiExchangeOptions;
  private readonly gone = new AbortController();
  private readonly collected = new BodyCollector();
  private readonly decoder: ChunkedDecoder | undefined;
  private streamed: BodyStream | undefined;
  private answered = false;
  private streamsAnswer = false;
  private wake: (() => void) | undefined;
  private release: (() => void) | undefined;

  constructor(request: RequestHead, client: ClientConnection, options: ApiExchangeOptions) {
    this.request = request;
    this.client = client;
    const peer = client.connection.remoteAddress;
    // All lines of it: the client may have sent the first, and a proxy may have added its own as another one.
    this.address = options.clientAddress?.(peer, request.fields.all("x-forwarded-for").join(",")) ?? peer;
    this.options = options;
    this.decoder = request.framing.kind === "chunked" ? new ChunkedDecoder() : undefined;
  }

  get bodyIdleMs(): number {
    return this.streamed ? STREAM_IDLE_MS : BODY_IDLE_MS;
  }

  start(): void {
    // No more of the body is read than came with the head.
    if (this.request.framing.kind !== "none") this.client.pauseBody();
    void this.answer().finally(() => this.release?.());
  }

  body(maxBytes: number): Promise<Buffer> {
    if (this.saysMoreThan(maxBytes)) return Promise.reject(tooLarge(maxBytes));
    this.ask();
    return this.collected.whole(maxBytes);
  }

  stream(maxBytes: number): ReadableStream<Uint8Array> {
    if (this.saysMoreThan(maxBytes)) throw tooLarge(maxBytes);
    const flow = { pause: () => this.client.pauseBody(), resume: () => this.resume() };
    const body = new BodyStream(maxBytes, flow);
    body.push(this.collected.take());
    if (this.collected.isComplete) body.end();
    this.streamed = body;
    this.ask();
    return body.readable;
  }

  note(facts: AccessFacts): void {
    this.noted = { ...this.noted, ...facts };
  }

  streamAnswer(): void {
    this.streamsAnswer = true;
  }

  private saysMoreThan(maxBytes: number): boolean {
    const { framing } = this.request;
    return framing.kind === "length" && framing.length > maxBytes;
  }

  /** Lets the client send its body. */
  private ask(): void {
    if (this.request.framing.kind === "none") return;
    if (wantsContinue(this.request)) this.client.write(Buffer.from("HTTP/1.1 100 Continue\r\n\r\n"));
    this.client.resumeBody();
  }

  private resume(): void {
    // Before `stream` has ended there is nothing to resume, and after the answer the connection is not this exchange's.
    if (this.streamed && !this.answered && !this.gone.signal.aborted) this.client.resumeBody();
  }

  trust(hold?: (cut: () => void) => () => void): void {
    this.client.trust();
    if (hold && !this.gone.signal.aborted) this.release = hold(() => this.client.abort());
  }

  onBody(bytes: Buffer): void {
    if (this.answered) return;
    const plain = this.decoder ? this.decoder.push(bytes) : bytes;
    (this.streamed ?? this.collected).push(plain);
  }

  onBodyEnd(): void {
    this.collected.end();
    this.streamed?.end();
  }

  onClientDrain(): void {
    this.wake?.();
  }

  onClientClosed(): void {
    this.gone.abort(new DOMException("The client has gone", "AbortError"));
    const error = new AppError("canceled", "The client has gone", { reason: "client_gone" });
    this.collected.fail(error);
    this.streamed?.fail(error);
    this.wake?.();
  }

  private async answer(): Promise<void> {
    const head = this.request.method === "HEAD";
    try {
      const request = this.toRequest();
      const response = request ? await this.options.api(request, this) : invalidHost();
      const fields = [...response.headers, ...CORS] as [string, string][];
      const isStream = this.streamsAnswer || STREAMED.test(response.headers.get("content-type") ?? "");
      if (response.body && !head && isStream) {
        await this.send(response.status, fields, response.body);
        return;
      }
      const body = new Uint8Array(await response.arrayBuffer());
      const plain = fields.filter(([name]) => name.toLowerCase() !== "content-length");
      if (this.gone.signal.aborted) return;
      const keep = this.endsKept();
      this.client.write(ownResponse(response.status, plain, body, { close: !keep, head }));
      this.client.endResponse(keep);
    } catch (error) {
      if (this.gone.signal.aborted) return;
      // A handler answers the errors that it knows by itself, and logs them.
      const { method, target } = this.request;
      const line = { err: error, method, path: target.split("?", 1)[0]?.slice(0, 200), status: 500 };
      this.options.logger.error(line, "a request failed outside of its handler");
      this.answered = true;
      this.client.write(jsonResponse(500, { code: 500, message: "Internal server error" }, true, head));
      this.client.endResponse(false);
    }
  }

  /** Whether the connection serves again after this answer. */
  private endsKept(): boolean {
    this.answered = true;
    const { framing, keepAlive } = this.request;
    const isShort = framing.kind === "none" || (framing.kind === "length" && framing.length <= MAX_UNWANTED_BYTES);
    return keepAlive && (isShort || this.collected.isComplete);
  }

  /** The request for the handler; undefined for a Host that cannot stand in a URL. */
  private toRequest(): Request | undefined {
    const { method, target, host, fields } = this.request;
    const url = `http://${host === "" ? "localhost" : host}${target === "*" ? "/" : target}`;
    if (!URL.canParse(url)) return undefined;
    const headers = new Headers();
    for (let i = 0; i < fields.count; i++) {
      const name = fields.lower[i] ?? "";
      if (name !== "connection" && name !== "transfer-encoding" && name !== "content-length") headers.append(name, fields.value(i));
    }
    if (this.client.connection.tls && !this.options.isPassedOn) headers.set("x-forwarded-proto", "https");
    return new Request(url, { method, headers, signal: this.gone.signal });
  }

  /** Sends an answer as it is made. A failure after its beginning cannot change the status any more, so it resets the connection. */
  private async send(status: number, fields: [string, string][], body: ReadableStream<Uint8Array>): Promise<void> {
    const length = fields.find(([name]) => name.toLowerCase() === "content-length")?.[1];
    const chunked = length === undefined && this.request.minor === 1;
    const keep = this.endsKept() && (chunked || length !== undefined);
    const plain = fields.filter(([name]) => name.toLowerCase() !== "content-length");
    const framing = chunked ? "Transfer-Encoding: chunked\r\n" : length === undefined ? "" : `Content-Length: ${length}\r\n`;
    const text = ownResponse(status, plain, "", { close: !keep }).toString();
    this.client.write(Buffer.from(text.replace("Content-Length: 0\r\n", framing), "latin1"));
    let left = Number(length);
    const reader = body.getReader();
    const cancel = () => void reader.cancel().catch(() => {});
    this.gone.signal.addEventListener("abort", cancel, { once: true });
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done || this.gone.signal.aborted) break;
        if (value.byteLength === 0) continue;
        left -= value.byteLength;
        const frame = chunked ? Buffer.concat([Buffer.from(`${value.byteLength.toString(16)}\r\n`), value, Buffer.from("\r\n")]) : value;
        if (!this.client.write(frame)) await this.drained();
      }
      if (this.gone.signal.aborted) return;
      if (length !== undefined && left !== 0) throw new Error("the answer is not as long as its Content-Length");
    } catch {
      // The handler has logged the failure of its stream.
      this.client.abort();
      return;
    }
    if (chunked) this.client.write(Buffer.from("0\r\n\r\n"));
    this.client.endResponse(keep);
  }

  private async drained(): Promise<void> {
    const cancel = later(STALL_MS, () => this.client.abort());
    await new Promise<void>((resolve) => {
      this.wake = resolve;
      if (this.gone.signal.aborted) resolve();
    });
    cancel();
  }
}

const invalidHost = () =>
  new Response(JSON.stringify({ code: 400, message: "The Host header is not valid" }), {
    status: 400,
    headers: { "Content-Type": "application/json; charset=utf-8" },
  });
