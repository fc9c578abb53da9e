import { type AgentUnderTest, authorised } from "./agent-access.ts";

/** Connect's JSON codec by hand, so that the suite checks the bytes on the wire and not a client's view of them. */

export interface CallOptions {
  /** Acting user, sent as a Basic header. */
  readonly user?: string;
  readonly timeoutMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** False leaves the access token out. */
  readonly authorised?: boolean;
}

export interface UnaryResult {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what the agent sent, to be looked at by the test.
  readonly body: any;
}

export function callHeaders(agent: AgentUnderTest, type: string, options: CallOptions): Record<string, string> {
  return {
    "Content-Type": type,
    "Connect-Protocol-Version": "1",
    ...(options.authorised === false ? {} : authorised(agent)),
    ...(options.user === undefined ? {} : { Authorization: `Basic ${btoa(`${options.user}:`)}` }),
    ...(options.timeoutMs === undefined ? {} : { "Connect-Timeout-Ms": String(options.timeoutMs) }),
    ...options.headers,
  };
}

/** A unary call. The body is JSON text or a value. */
export async function unary(agent: AgentUnderTest, method: string, message: unknown, options: CallOptions = {}): Promise<UnaryResult> {
  const body = typeof message === "string" ? message : JSON.stringify(message);
  const headers = callHeaders(agent, "application/json", options);
  const response = await fetch(`${agent.baseUrl}/${method}`, { method: "POST", headers, body, signal: options.signal ?? null });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text.startsWith("{") ? JSON.parse(text) : text };
}

export function envelope(message: unknown, flags = 0): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(typeof message === "string" ? message : JSON.stringify(message));
  const bytes = new Uint8Array(5 + text.length);
  bytes[0] = flags;
  new DataView(bytes.buffer).setUint32(1, text.length);
  bytes.set(text, 5);
  return bytes;
}

/** One envelope as it came, with the flags. */
export interface Received {
  readonly flags: number;
  // biome-ignore lint/suspicious/noExplicitAny: what the agent sent, to be looked at by the test.
  readonly message: any;
}

export interface OpenStream {
  readonly status: number;
  readonly headers: Headers;
  /** Envelopes as they come, the end-of-stream one included. */
  readonly envelopes: AsyncGenerator<Received>;
  /** Leaves without reading on. */
  leave(): void;
}

/** A server-streaming call. */
export async function stream(agent: AgentUnderTest, method: string, message: unknown, options: CallOptions = {}): Promise<OpenStream> {
  return openStream(agent, method, envelope(message), options);
}

/** A streaming call with any body. */
export async function openStream(agent: AgentUnderTest, method: string, body: BodyInit, options: CallOptions = {}): Promise<OpenStream> {
  const leaving = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, leaving.signal]) : leaving.signal;
  const headers = callHeaders(agent, "application/connect+json", options);
  const response = await fetch(`${agent.baseUrl}/${method}`, { method: "POST", headers, body, signal });
  return { status: response.status, headers: response.headers, envelopes: readEnvelopes(response), leave: () => leaving.abort() };
}

async function* readEnvelopes(response: Response): AsyncGenerator<Received> {
  let buffer = Buffer.alloc(0);
  for await (const chunk of response.body ?? []) {
    buffer = Buffer.concat([buffer, chunk]);
    while (buffer.length >= 5 && buffer.length >= 5 + buffer.readUInt32BE(1)) {
      const length = buffer.readUInt32BE(1);
      yield { flags: buffer[0] ?? 0, message: JSON.parse(buffer.toString("utf8", 5, 5 + length)) };
      buffer = buffer.subarray(5 + length);
    }
  }
}
