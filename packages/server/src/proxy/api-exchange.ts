import { ChunkedDecoder, type ClientConnection, type Exchange, ownResponse, type RequestHead } from "@boxyard/http1";
import { CORS, jsonResponse } from "./answers.ts";

/** What answers the platform API: a fetch handler. The signal aborts when the client has gone. */
export type ApiHandler = (request: Request) => Response | Promise<Response>;

/** Bodies of the API are small: one that pauses for longer will not come. */
const BODY_IDLE_MS = 30_000;

/** Answers that are sent as they come into being; others are short. */
const STREAMED = /^(text\/event-stream|application\/(x-ndjson|x-tar))(;|$)/;
/** A client that takes nothing for longer has gone. */
const STALL_MS = 120_000;

/** A request that this server answers itself: its body is collected, within a limit. */
export class ApiExchange implements Exchange {
  readonly bodyIdleMs = BODY_IDLE_MS;
  private readonly request: RequestHead;
  private readonly client: ClientConnection;
  private readonly handler: ApiHandler;
  private readonly maxBodyBytes: number;
  private readonly gone = new AbortController();
  private readonly decoder: ChunkedDecoder | undefined;
  private chunks: Buffer[] = [];
  private bytes = 0;
  private refused = false;
  private wake: (() => void) | undefined;

  constructor(request: RequestHead, client: ClientConnection, handler: ApiHandler, maxBodyBytes: number) {
    this.request = request;
    this.client = client;
    this.handler = handler;
    this.maxBodyBytes = maxBodyBytes;
    this.decoder = request.framing.kind === "chunked" ? new ChunkedDecoder() : undefined;
  }

  start(): void {
    const { framing } = this.request;
    if (framing.kind === "length" && framing.length > this.maxBodyBytes) this.refuse();
    else if (framing.kind !== "none" && this.request.fields.get("expect")?.toLowerCase() === "100-continue") {
      this.client.write(Buffer.from("HTTP/1.1 100 Continue\r\n\r\n"));
    }
  }

  onBody(bytes: Buffer): void {
    if (this.refused) return;
    for (const part of this.decoder ? this.decoder.push(bytes) : [bytes]) {
      this.bytes += part.byteLength;
      if (this.bytes > this.maxBodyBytes) {
        this.refuse();
        return;
      }
      this.chunks.push(part);
    }
  }

  onBodyEnd(): void {
    if (!this.refused) void this.answer();
  }

  onClientDrain(): void {
    this.wake?.();
  }

  onClientClosed(): void {
    this.gone.abort(new DOMException("The client has gone", "AbortError"));
    this.wake?.();
  }

  private refuse(): void {
    this.refused = true;
    this.chunks = [];
    const message = `The body is larger than ${this.maxBodyBytes} bytes`;
    this.client.write(jsonResponse(413, { code: 413, message }, true, this.request.method === "HEAD"));
    this.client.endResponse(false);
  }

  private async answer(): Promise<void> {
    const keep = this.request.keepAlive;
    const head = this.request.method === "HEAD";
    try {
      const response = await this.handler(this.toRequest());
      const fields = [...response.headers, ...CORS] as [string, string][];
      if (response.body && !head && STREAMED.test(response.headers.get("content-type") ?? "")) {
        await this.stream(response.status, fields, response.body);
        return;
      }
      const body = new Uint8Array(await response.arrayBuffer());
      const plain = fields.filter(([name]) => name.toLowerCase() !== "content-length");
      if (this.gone.signal.aborted) return;
      this.client.write(ownResponse(response.status, plain, body, { close: !keep, head }));
      this.client.endResponse(keep);
    } catch {
      if (this.gone.signal.aborted) return;
      this.client.write(jsonResponse(500, { code: 500, message: "Internal server error" }, true, head));
      this.client.endResponse(false);
    }
  }

  private toRequest(): Request {
    const { method, target, host, fields } = this.request;
    const headers = new Headers();
    for (let i = 0; i < fields.count; i++) {
      const name = fields.lower[i] ?? "";
      if (name !== "connection" && name !== "transfer-encoding") headers.append(name, fields.value(i));
    }
    const safeHost = /^[A-Za-z0-9.\-_[\]:]+$/.test(host) ? host : "localhost";
    const bodyless = method === "GET" || method === "HEAD" || this.bytes === 0;
    return new Request(`http://${safeHost}${target === "*" ? "/" : target}`, {
      method,
      headers,
      signal: this.gone.signal,
      ...(bodyless ? {} : { body: Buffer.concat(this.chunks) }),
    });
  }

  /** Once it has begun nothing else can be said: what fails then breaks the connection off. */
  private async stream(status: number, fields: [string, string][], body: ReadableStream<Uint8Array>): Promise<void> {
    const length = fields.find(([name]) => name.toLowerCase() === "content-length")?.[1];
    const chunked = length === undefined && this.request.minor === 1;
    const keep = this.request.keepAlive && (chunked || length !== undefined);
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
      if (length !== undefined && left !== 0) throw new Error("the answer has another length than was said");
    } catch {
      // Whoever made the stream has told of its failure.
      this.client.abort();
      return;
    }
    if (chunked) this.client.write(Buffer.from("0\r\n\r\n"));
    this.client.endResponse(keep);
  }

  private async drained(): Promise<void> {
    const stalled = setTimeout(() => this.client.abort(), STALL_MS);
    await new Promise<void>((resolve) => {
      this.wake = resolve;
      if (this.gone.signal.aborted) resolve();
    });
    clearTimeout(stalled);
  }
}
